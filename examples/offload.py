"""Saved tensors elsewhere: on the CPU, or in files, by hooks on saved tensors, and an account of where the bytes went.

    python examples/offload.py

A graph keeps what its backward pass needs. A pack hook is given each such tensor and returns what is kept in its
place; the unpack hook makes the tensor again when a derivative asks for it. The gradients are the same in every way.
"""

import tempfile
from pathlib import Path

import numpy as np

import minigrad as torch
from minigrad import memory, nn

LAYERS, WIDTH, BATCH = 8, 256, 512


class save_on_disk(torch.autograd.graph.saved_tensors_hooks):
    """A block in which saved tensors, parameters apart, are kept in files of a folder, and read when they are needed.

    Each node has files of its own, also for what two of them save. A file goes when its node lets go of what it saved.
    """

    class File:
        """What stands in the graph for a tensor: the name of its file."""

        def __init__(self, path, tensor):
            self.path = path
            np.save(path, tensor.detach().numpy())

        def __del__(self):
            self.path.unlink(missing_ok=True)

    def __init__(self, folder):
        super().__init__(self.pack, self.unpack)
        self.folder, self.count = Path(folder), 0

    def pack(self, tensor):
        """Write a tensor; a parameter lives anyway, and so does every view of one."""
        if isinstance(tensor if tensor._base is None else tensor._base, nn.Parameter):
            return tensor
        self.count += 1
        return self.File(self.folder / f"{self.count}.npy", tensor)

    def unpack(self, kept):
        """Read it again."""
        return torch.from_numpy(np.load(kept.path)) if isinstance(kept, self.File) else kept


def bytes_in(folder):
    """The bytes of all files of a folder."""
    return sum(path.stat().st_size for path in Path(folder).iterdir())


def step(model, x, hooks, folder):
    """A forward and a backward pass: what is held between them, in memory and in files; and the first gradient."""
    before = memory.held()
    with hooks:
        loss = model(x).square().mean()
    between, files = memory.held(), bytes_in(folder)
    loss.backward()
    gradient, left = model[0].weight.grad, bytes_in(folder)
    model.zero_grad()
    return between.saved - before.saved, files, left, gradient


def main():
    torch.manual_seed(0)
    model = nn.Sequential(*[layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.Tanh())])
    x = torch.randn(BATCH, WIDTH)
    with tempfile.TemporaryDirectory() as folder:
        ways = {"in the graph": torch.enable_grad(), "save_on_cpu": torch.autograd.graph.save_on_cpu(),
                "on disk": save_on_disk(folder)}
        found = {way: step(model, x, hooks, folder) for way, hooks in ways.items()}
    plain = found["in the graph"][-1]
    print(f"{'kept':<14}{'in memory':>12}{'in files':>12}{'after':>8}  the same gradient")
    for way, (held, files, left, gradient) in found.items():
        print(f"{way:<14}{held:>12,}{files:>12,}{left:>8,}  {torch.equal(gradient, plain)}")
    print("save_on_cpu moves what is on a GPU; what is on the CPU stays where it is.")


if __name__ == "__main__":
    main()
