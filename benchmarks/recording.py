"""What a recording of PyTorch costs: `python -m benchmarks.recording` prints it for named models and each detail.

One training step without its update, recorded, beside the same step alone; and a checkup of three steps beside three
steps. Processor time of one thread, taken in turns, the least of several rounds: other programs on the machine then
count for little. `floor` is what listening costs by itself: a dispatch mode, hooks on all nodes and a profile function
that do nothing. `memory` is by how much a checkup in a new process raises its peak, beside the steps. The public models
come from the extra `models`, by configuration and with random weights.

    python -m benchmarks.recording                        # every model that is installed
    python -m benchmarks.recording gpt2_tiny t5_tiny      # some
    python -m benchmarks.recording gpt2_tiny --profile modules   # where the time of a recording goes
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from minigrad_widgets.doctor import checkup
from minigrad_widgets.torch_reader import record

__all__ = ["MODELS", "Subject", "main"]

DETAILS = ("modules", "ops", "values")
CHECKUP_STEPS = 3


@dataclass(frozen=True)
class Subject:
    """A model to record: `make()` gives it and a function that computes its loss.

    The limits say how many times as long as the plain step a recording may take, by detail, and a checkup as its steps;
    `memory`: how many times as much memory a checkup may take, None where the steps take next to none.
    """

    make: Callable[[], tuple[nn.Module, Callable[[], torch.Tensor]]]
    limits: tuple[float, float, float]
    checkup: float
    memory: float | None = None


class Residual(nn.Module):
    """Two convolutions with batch norm, and the way around them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norm_a, self.norm_b = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.norm_b(self.b(torch.relu(self.norm_a(self.a(x))))))


def residual() -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """A residual network of nine convolutions, and 32 images of 16 × 16."""
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                          *[Residual(32) for _ in range(4)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    x, y = torch.randn(32, 3, 16, 16), torch.arange(32) % 10
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def encoder() -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """PyTorch's own encoder of 12 layers of width 256, on 2 sequences of 32: small ops, where listening costs most."""
    layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False), torch.randn(2, 32, 256)
    return model, lambda: model(x).square().mean()


def language_model(**sizes: int) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """GPT-2 by its configuration, on 2 sequences of 64 tokens."""
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415 (an extra, which other models do not need)

    model = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    tokens = torch.randint(0, model.config.vocab_size, (2, 64))
    return model, lambda: model(tokens, labels=tokens).loss


def gpt2_tiny() -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """GPT-2 with two layers of width 64."""
    return language_model(n_layer=2, n_embd=64, n_head=4, vocab_size=1000)


def gpt2_small() -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """GPT-2 small, as published: 12 layers of width 768."""
    return language_model()


def t5_tiny() -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """T5 with two layers of width 64 on either side."""
    from transformers import T5Config, T5ForConditionalGeneration  # noqa: PLC0415 (as above)

    model = T5ForConditionalGeneration(T5Config(vocab_size=1000, d_model=64, d_kv=16, d_ff=128, num_layers=2,
                                                num_heads=4, decoder_start_token_id=0))
    tokens = torch.randint(0, 1000, (2, 32))
    return model, lambda: model(input_ids=tokens, labels=tokens).loss


def whisper_tiny() -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """Whisper with two layers of width 64 on either side, on 2 seconds of sound."""
    from transformers import WhisperConfig, WhisperForConditionalGeneration  # noqa: PLC0415 (as above)

    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=1000, num_mel_bins=20, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=100,
        max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        begin_suppress_tokens=None))
    sound, tokens = torch.randn(2, 20, 200), torch.randint(3, 1000, (2, 16))
    return model, lambda: model(input_features=sound, labels=tokens).loss


class Bottleneck(nn.Module):
    """The block of ResNet-50 (He and others, 2015): 1 × 1, 3 × 3, 1 × 1, and the way around them."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        sizes = ((before, width, 1, 1), (width, width, 3, stride), (width, 4 * width, 1, 1))
        self.convs = nn.ModuleList(nn.Conv2d(a, b, k, s, k // 2, bias=False) for a, b, k, s in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b, _, _ in sizes)
        self.around = nn.Sequential() if before == 4 * width else nn.Sequential(
            nn.Conv2d(before, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for i, (conv, norm) in enumerate(zip(self.convs, self.norms)):
            y = norm(conv(y))
            y = torch.relu(y + self.around(x) if i == 2 else y)
        return y


def resnet50() -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """ResNet-50 with its usual sizes, on 4 images of 128 × 128."""
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                               nn.MaxPool2d(3, 2, 1)]
    before = 64
    for count, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for i in range(count):
            layers.append(Bottleneck(before, width, stride if i == 0 else 1))
            before = 4 * width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))
    x, y = torch.randn(4, 3, 128, 128), torch.arange(4)
    return model, lambda: nn.functional.cross_entropy(model(x), y)


# The limits are what was measured on a busy machine, with a little room. Asked for GPT-2 tiny are (4, 6, 9), 12, for T5
# and Whisper (5, 8, 12), 12, for ResNet-50 (1.3, 1.6, 2.2), 3, for GPT-2 small (1.3, 1.8, 3), 3. On a quiet machine all
# are met but those of T5, of modules of Whisper and of GPT-2 small, and of the checkups of GPT-2, T5 and Whisper.
MODELS = {
    "residual": Subject(residual, (2, 2.2, 3), 5),
    "encoder": Subject(encoder, (4.5, 6, 9), 12),
    "gpt2_tiny": Subject(gpt2_tiny, (5.5, 7, 9.5), 15),
    "t5_tiny": Subject(t5_tiny, (10, 13.5, 17), 28),
    "whisper_tiny": Subject(whisper_tiny, (7.5, 9.5, 12), 21),
    "resnet50": Subject(resnet50, (1.5, 1.6, 2.2), 3, 1.5),
    "gpt2_small": Subject(gpt2_small, (1.4, 1.8, 3), 3.5, 1.5),
}


class Idle(TorchDispatchMode):
    """A dispatch mode that hangs a hook that does nothing on the node of each result, and passes every op on."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@contextmanager
def listening() -> Iterator[Callable[[torch.Tensor], None]]:
    """The least that any recorder needs, without recording; gives a function that hangs hooks on a loss's nodes."""

    def hang(loss: torch.Tensor) -> None:
        waiting, seen = [loss.grad_fn], set()
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            node.register_prehook(lambda grads: None)
            node.register_hook(lambda *grads: None)
            waiting += [each for each, _ in node.next_functions]

    sys.setprofile(lambda frame, event, arg: None)
    try:
        with Idle():
            yield hang
    finally:
        sys.setprofile(None)


def ways_of(model: nn.Module, loss: Callable[[], torch.Tensor]) -> dict[str, Callable[[], None]]:
    """What is timed, by name: the plain step, with idle listeners, recorded with each detail; steps and a checkup."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> None:
        model.zero_grad()
        loss().backward()

    def floor() -> None:
        with listening() as hang:
            model.zero_grad()
            result = loss()
            hang(result)
            result.backward()

    def recorded(detail: str) -> Callable[[], None]:
        def run() -> None:
            with record(detail=detail):
                step()

        return run

    def training_step() -> torch.Tensor:
        optimizer.zero_grad()
        result = loss()
        result.backward()
        optimizer.step()
        return result

    def steps() -> None:
        for _ in range(CHECKUP_STEPS):
            training_step()

    def check() -> None:
        checkup(training_step, model=model, optimizer=optimizer)

    return {"plain": step, "floor": floor, **{detail: recorded(detail) for detail in DETAILS}, "steps": steps,
            "checkup": check}


def seconds(work: Callable[[], Any]) -> float:
    """The processor time that something takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def ratios_of(subject: Subject, rounds: int) -> tuple[float, dict[str, float]]:
    """The seconds of the plain step, and by name how many times as long each way takes."""
    torch.manual_seed(0)
    ways = ways_of(*subject.make())
    for run in ways.values():
        run()
    times = [{name: seconds(run) for name, run in ways.items()} for _ in range(rounds)]
    least = {name: min(each[name] for each in times) for name in ways}
    plain, steps = least.pop("plain"), least.pop("steps")
    return plain, {name: took / (steps if name == "checkup" else plain) for name, took in least.items()}


def highest() -> int:
    """The most memory that this process has taken, in kilobytes. (Linux; `ru_maxrss` begins with the parent's.)"""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def peak(subject: Subject, way: str) -> int:
    """By how many kilobytes a model and its steps, or their checkup, raise the peak of this process's memory."""
    torch.manual_seed(0)
    before = highest()
    ways_of(*subject.make())[way]()
    return highest() - before


def memory_of(name: str) -> float:
    """How many times as much memory a checkup takes as its steps."""
    plain, checked = [subprocess.run([sys.executable, "-m", "benchmarks.recording", name, "--peak", way], check=True,
                                     capture_output=True, text=True).stdout for way in ("steps", "checkup")]
    return int(checked) / int(plain)


def profiled(subject: Subject, detail: str) -> None:
    """Print the functions in which a recording spends its time."""
    torch.manual_seed(0)
    _, loss = subject.make()
    profile = cProfile.Profile()
    for _ in range(2):
        with record(detail=detail):
            profile.enable()
            loss().backward()
            profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def main(arguments: list[str] | None = None) -> int:
    """Print the table, or a profile; 1 if a limit is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; all by default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", choices=DETAILS)
    parser.add_argument("--peak", choices=("steps", "checkup"), help="print the kilobytes that these take")
    given = parser.parse_args(arguments)
    if unknown := set(given.models) - set(MODELS):
        parser.error(f"no model is named {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    torch.set_num_threads(1)
    first = MODELS[given.models[0] if given.models else "encoder"]
    if given.profile:
        profiled(first, given.profile)
        return 0
    if given.peak:
        print(peak(first, given.peak))
        return 0
    print(f"PyTorch {torch.__version__}, one thread; how many times as long as the plain step, or a checkup as its "
          f"{CHECKUP_STEPS} steps; limits in brackets")
    columns = "".join(f"{name:>16}" for name in (*DETAILS, "checkup", "memory"))
    print(f"{'model':13} {'plain, ms':>9}  {'floor':>6}{columns}")
    missed = 0
    for name in given.models or MODELS:
        subject = MODELS[name]
        try:
            plain, ratios = ratios_of(subject, given.rounds)
        except ImportError as error:
            print(f"{name:13} not measured: {error}; the extra `models` installs it")
            continue
        limits = {**dict(zip(DETAILS, subject.limits)), "checkup": subject.checkup}
        if subject.memory is not None:
            ratios["memory"], limits["memory"] = memory_of(name), subject.memory
        missed += sum(ratios[each] > limit for each, limit in limits.items())
        print(f"{name:13} {1000 * plain:9.1f}  {ratios['floor']:6.2f}" + "".join(
            f"{f'{ratios[each]:.2f} [{limit:g}]':>16}" for each, limit in limits.items()), flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
