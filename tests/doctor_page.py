"""Writes docs/doctor.md: every rule of the doctor with a faulty program, and what a checkup of it prints.

`python -m tests.doctor_page` runs the programs; tests/widgets/doctor/test_doctor_page.py holds the page to them.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import warnings

import minigrad
from minigrad_widgets.doctor import Finding, checkup
from minigrad_widgets.doctor.argument_texts import ARGUMENTS
from minigrad_widgets.doctor.texts import TEXTS
from tests.links import ROOT
from tests.widgets.doctor.corpus_runs import FAULTY, LEARNING, Planted
from tests.widgets.doctor.mutation import compiled

__all__ = ["PAGE", "page"]

PAGE = ROOT / "docs" / "doctor.md"
RULES = {  # in the order of the page: what each finds
    "unused-parameter": "a parameter that never became part of the loss's graph",
    "cut-graph": "a parameter without a gradient because its path to the loss was cut, where, and by what: `detach`, "
                 "`.data`, `.item()`, `numpy()`, `torch.tensor(x)`, `no_grad`, a comparison, an op on integers, "
                 "`argmax`",
    "no-graph-loss": "`backward` on a loss that has no graph, and where the graph was cut",
    "leaf-loss": "a loss that has no graph and was made a leaf, as by `requires_grad_()`, and where its graph was cut",
    "not-a-leaf": "a tensor that is used as a parameter but is the result of an op",
    "not-in-optimizer": "a parameter with a gradient that no optimizer holds, also one that a module keeps as a plain "
                        "attribute or a buffer",
    "stale-in-optimizer": "an optimizer that holds tensors which the model no longer has",
    "nothing-moves": "parameters that got gradients and that no step changed: `step` is never called, or named without "
                     "its parentheses, the learning rate of a group is 0, gradients are clipped or multiplied to 0, "
                     "the optimizer has another model's parameters",
    "frozen-by-mistake": "parameters that an optimizer holds and that the step freezes for good, by `requires_grad`; a "
                         "group of its own that was frozen from the start",
    "zero-gradient": "gradients that are exactly 0 in every step, and what makes them so: a factor of 0, an empty "
                     "mask, `round`, `sign`, `clamp`, a hook, a relu on the scores",
    "learning-rate": "an update out of proportion to the weights, reported beside the rate; weight decay that "
                     "outweighs what is learned; a rate that a schedule brings to nothing within a few steps",
    "loss-rises": "`maximize`, a loss that is the negative of a known one, an update by hand that adds the gradient",
    "symmetric-weights": "units of a layer that begin with equal weights and stay equal",
    "input-scale": "data or targets far from unit scale, where nothing normalises them",
    "batch-leak": "a view that mixes examples where a transpose was meant; a model of sequences that reads the batch "
                  "as time",
    "not-detached": "a target or an advantage that learns from the comparison, by the graph: gradients flow through it",
    "grad-accumulates": "an update that uses again gradients of earlier steps; accumulation over several batches is "
                        "not reported",
    "wrong-order": "`step` before `backward`, `zero_grad` between the two, clipping after `step` or before `backward`, "
                   "a learning rate scheduler that steps before the optimizer, clipping or stepping with gradients "
                   "that a GradScaler has not unscaled",
    "graph-grows": "a graph with more nodes after each step, and the variable that holds them",
    "kept-graph": "`retain_graph` or `create_graph` whose graph was not used again",
    "inplace-on-saved": "a tensor that was changed after it had been saved for a derivative",
    "inplace-on-leaf": "a leaf that was changed in place while gradients were recorded",
    "second-backward": "a second pass through a graph whose saved tensors are gone",
    "nan-forward": "the first op that made a NaN or Inf from finite numbers, with the range of these",
    "nan-backward": "the first derivative that made a NaN or Inf from finite numbers, with the range of these",
    "exploding-gradient": "gradients that grow along the depth, with the layer where this begins",
    "vanishing-gradient": "gradients that fade along the depth, with the layer where this begins",
    "dead-relu": "a relu with at least half of its units at 0 for the whole batch, in every step",
    "saturated": "a sigmoid or tanh with nine tenths of its results where the slope is 0, in every step",
    "softmax-before-cross-entropy": "a softmax whose result goes into `cross_entropy`",
    "sigmoid-before-bce-with-logits": "a sigmoid whose result goes into `binary_cross_entropy_with_logits`",
    "broadcast-loss": "a loss whose input and target broadcast, (N, 1) against (N,)",
    "loss-contract": "a loss fed with what it does not take: `nll_loss` of scores or probabilities, `kl_div` of "
                     "probabilities, a softmax over the batch or over one score, a sigmoid before `cross_entropy`, "
                     "targets outside of what the loss takes, padding among the labels, labels that are not shifted",
    "mode-mismatch": "BatchNorm or Dropout in eval mode in a step that trains, or in train mode in a pass without "
                     "gradients that no loss is computed from",
    "checkpoint-without-grad": "a reentrant checkpoint with no input that requires grad",
    "memory-hog": "a line that holds more than half of what is saved for the backward pass",
}
BEGIN = '''# The autograd doctor

`checkup` runs a training step a few times under the recorder and says what is wrong with it; `explain` runs a program
that raises an error and says why. Both work with PyTorch and with minigrad, in a notebook, in a script and under
pytest, after `pip install minigrad-kit` alone.

```python
from minigrad_widgets import checkup, explain

report = checkup(step, model=model, optimizer=optimizer)   # step() does one iteration
print(report)                                              # in a notebook, the report as the last line is a page
report.to_html("report.html")
assert report.ok, str(report)                              # in a test

print(explain(train, model, batch))                        # why does train(model, batch) raise?
```

In a notebook, `%%explain` as the first line of a cell explains that cell, and `explain()` explains the cell before,
which raised an error. It runs that cell again; if the cell changes variables that it also reads, it does so only with
`explain(rerun=True)`. The answer is a card with a button that opens the inspector at the line that is to blame.

`model` and `optimizer` may be lists. If you leave them out, they are those that `step` refers to by name. After a
checkup, all modules, optimizers, learning rate schedules and gradient scalers that the step can reach are as they were,
with their hooks, buffers and modes, and so are tensors with their gradients, averages of the weights, and random
states; also if the step failed, unless you pass `keep=True`. Anything else that the step changes stays changed: a list
of losses that it appends to, an iterator that it advances.

- An error of the step that `explain` knows becomes a finding. Any other error propagates, with the report so far as its
  attribute `report`.
- A step that never calls `backward` gets a finding (`no-backward`). Without a model, the rules about parameters that
  were never used are left out, and the report says so.
- A finding is an error, a warning or a note; `report.ok` is true where there are only notes.
- One cause is one finding: what begins at the same line, and has the same rule or is an effect of it, is in the list of
  the first, its `also`.
- A checkup takes longer than the plain steps, for each op and not for its size: of ResNet-50 2.1 times as long and of
  GPT-2 small about 3 times (3 are allowed: kept, and just reached or missed), both with 1.4 times the memory (1.5:
  kept), of a small ResNet and of a 12-layer encoder 3.0 and 8.3 times. Where ops are small it takes more: for two
  layers of width 64 of GPT-2, Whisper and T5 15, 19 and 25 times (12: all three missed). PyTorch 2.13, one thread, on
  a quiet machine, 2026-11-29, GPT-2 small on a busy one the day before: `python -m benchmarks.recording`. Since then
  the file with the step is parsed once, which saves about a tenth of it: 14.4 instead of 16.4 times for GPT-2, 27
  instead of 30 for T5, in turns on a busy machine.

The doctor does not see steps that run in another thread or process, or values that
leave the graph in other ways than those listed under `cut-graph`.

## What depends on what

`depends(output, x)` says which elements of an output depend on which elements of an input, by a backward pass through
the recorded graph from each of them; it shows causal masks, receptive fields and leaks between examples, as a picture
in a notebook and as text elsewhere, and it can be asserted. It works with PyTorch and with minigrad.

```python
from minigrad_widgets import depends

x = torch.randn(2, 8, 16, requires_grad=True)              # (batch, time, width)
found = depends(model(x), x, dims=[0, 1])                  # tell examples and steps of the output apart
assert found.mixes(0) == []                                # no example sees another, as through BatchNorm
assert found.is_causal(1)                                  # no step sees a later one
print(found.text(1))                                       # a line for each step of the output
found.field(1)                                             # the first and the last step that each one sees
found.matrix(1), found.table                               # arrays of bools
```

An element counts if its gradient is not exactly 0 here: not what a mask or a relu shuts off at this point. A model of
tokens is asked with what its embedding returned, as integers have no gradients.

## The rules

Each rule has a program with the fault and what a checkup of it prints. The programs are from `tests/widgets/doctor`,
where `models` has small models; the last lines of the output say what to do.
'''


def page() -> str:
    """The whole page."""
    parts = [BEGIN]
    for rule, finds in RULES.items():
        each, text = next((each, text) for each in FAULTY + LEARNING if each.rule == rule and (text := printed(each)))
        shown = f"```python\n{program(each)}```\n\n```text\n{text}\n```"
        parts.append(f"### {rule}\n\n{textwrap.fill(f'Finds {finds}.', 120)}\n\n{shown}\n")
    parts.append("## The errors that `explain` knows\n\n| rule | what it means |\n|---|---|\n" + "".join(
        f"| `{text.rule}` | {escaped(text.what)} |\n" for text in [*TEXTS, *ARGUMENTS]))
    parts.append(textwrap.fill(
        "For the last group, from `loader-worker` on, it adds the numbers, the module by its path, what your line "
        "worked on, and the mend in your own words: “model.fc1, Linear(in_features=400, out_features=120, bias=True), "
        "takes 400 features and got 2704. x float32 of shape (4, 2704)”, and `self.fc1 = nn.Linear(2704, 120)` beside "
        "the line that made the layer. An error in the body of a Function, a hook or a checkpoint is named there, not "
        "at the call around it; one in a worker of a DataLoader at its line in the dataset.", 120) + "\n")
    parts.append(textwrap.fill("Any other error propagates, with a note that says so, and with what is known all the "
                               "same: your line, the module, and what the line worked on.", 120) + "\n")
    return "\n".join(parts)


def program(each: Planted) -> str:
    """The text of a program, without its marks."""
    return re.sub(r"  # <-$|^ *#[=+] .*\n", "", textwrap.dedent(inspect.getsource(each.program)), flags=re.MULTILINE)


def printed(each: Planted) -> str:
    """What a checkup of a program says of its fault; "" if it says that of a cause, on the same line."""
    run = compiled("step", each.rule or "", program(each), vars(inspect.getmodule(each.program)), "step.py")
    minigrad.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warnings that PyTorch gives of these faults, too
        step, given = run.program(minigrad)[:2]
        found: list[Finding] = checkup(step, **given).findings
    return "".join([str(one) for one in found if one.rule == each.rule][:1])


def escaped(text: str) -> str:
    """A sentence in a table."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
