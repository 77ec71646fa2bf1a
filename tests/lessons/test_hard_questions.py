"""Two dozen hard questions, by two people who had not seen the lessons, are answered from the lessons alone: for each
part of each there is a cell that shows the fact, and this test finds it there.
"""

import contextlib
import importlib
import io
import warnings
from types import ModuleType
from typing import Any

import pytest

from tests.groups import has_torch, require
from tests.lessons.play import EXECUTED, executed

# A part of a question: the lesson, the cell, and words of its source or of what it prints.
SHOWN = {
    "1 to() without a change returns the tensor itself": ("08", "torch", "False True ToCopyBackward0"),
    "1 a cast is recorded, and the leaf gets the gradient": ("08", "belief-leaf-run", "ToCopyBackward0"),
    "1 a result of what needs no gradient is a leaf": ("01", "summary", "an operation, no input requires grad"),
    "1 an optimizer refuses a result": ("11", "r2", "can't optimize a non-leaf Tensor"),
    "2 the pair of an input without gradient": ("03", "summary", "(None, 0)"),
    "2 one AccumulateGrad for a leaf used twice": ("03", "summary", "x, 0)  (AccumulateGrad of x, 0)"),
    "2 the engine sums, no node does": ("17", "worked-intro", "no node of its own stands for the broadcast"),
    "3 added to in place": ("05", "in-place", "create_graph=False: the first shows 8, w.grad 8; the same tensor: T"),
    "3 but recorded, with create_graph": ("05", "in-place", "create_graph=True: the first shows 4, w.grad 8; the same"),
    "3 None makes the next one a new tensor": ("05", "summary", "x.grad = None       None        False"),
    "4 a hook stays with the value it was set on": ("18", "hooks", "registered before: 15 becomes 150"),
    "4 retain_grad moves on, and runs last": ("18", "hooks", "y.grad: 5.0  x.grad: 300.0"),
    "4 the order at a leaf": ("06", "belief-order-run", "tensor hook of x: tensor(3.)\npost-accumulate hook of x"),
    "5 a change through detach() is noticed": ("08", "summary", "w.detach()"),
    "5 one through .data is not": ("08", "torch", "tensor([4., 6.])"),
    "5 an addition saves nothing": ("08", "open1", "y = a + 3; a.add_(1)"),
    "6 a sum with an inference tensor": ("07", "inference", "a sum saves nothing, so it is recorded: True"),
    "6 a clone of it": ("07", "inference", "a clone is a normal tensor again:       True"),
    "6 a product with it": ("07", "inference", "Inference tensors cannot be saved for backward"),
    "6 a flag that is asked for under no_grad": ("07", "belief-all-run", "torch.ones(2, requires_grad=True)  requires"),
    "7 writing to a view": ("18", "written-view", "base: [0.0, 5.0, 5.0] torch::autograd::CopySlices"),
    "7 the view's own node": ("18", "written-view", "AsStridedBackward0 ← torch::autograd::CopySlices"),
    "7 a view of a leaf": ("18", "torch", "a view of a leaf Variable that requires grad is being used in an in-place"),
    "8 forward is not recorded": ("09", "belief-builds-run", "inside:  grad mode False"),
    "8 zeros for an output that is not used": ("09", "outputs", "tensor(0.) | wanted: (True, False, False) | grad"),
    "8 or None, and grad mode with create_graph": ("09", "outputs", "None | wanted: (True, False, False) | grad mode"),
    "8 what an attribute of ctx costs": ("09", "belief-ctx-run", "still in memory: ['ExpAttribute']"),
    "8 and that it is not watched": ("09", "summary", "ctx.h = h                 60, no error"),
    "9 modes of both kinds": ("10", "torch", "False [True, True, True] [True, True]"),
    "9 no input requires grad": ("10", "summary", "only weights need a gradient       RuntimeError  works"),
    "9 how values are taken away": ("10", "worked-intro", "saved_tensors_hooks(pack, unpack)"),
    "9 dropout": ("10", "detached-note", "the random state is preserved by default"),
    "10 retain_graph records nothing": ("04", "belief-same-run", "retain_graph=True: tensor(27.)\n"),
    "10 create_graph does": ("04", "belief-same-run", "tensor(27., grad_fn=<MulBackward0>)"),
    "10 a tangent can be differentiated": ("22", "tangent", "6x · 5: 90.0"),
    "10 passes for a Jacobian": ("22", "summary", "9 × 4     4               9                forward"),
    "11 dtypes under autocast": ("19", "autocast", "weight.grad: torch.float32"),
    "11 the node that casts back": ("19", "autocast", "TBackward0\nToCopyBackward0\n"),
    "11 unscale before clipping": ("19", "next", "unscale before you clip; a step with infinite gradients is left"),
    "11 None is skipped, zeros are not": ("05", "belief-zeros-run", "set_to_none=False: w.grad is 0.0, the second"),
    "12 the average of sums": ("14", "data-note", "With a sum, `.grad` on four ranks would be a quarter"),
    "12 hooks on AccumulateGrad": ("14", "buckets", "a hook on each `AccumulateGrad` node"),
    "12 grad() runs none": ("14", "predict-intro", "it runs no `AccumulateGrad`"),
    "12 no_sync": ("14", "torch", "after backward: 22.0"),
    "12 a parameter that is skipped": ("14", "skipped", "Expected to have finished reduction in the prior iteration"),
    "13 losses in torch.tensor": ("07", "flag", "torch.tensor: loss.grad tensor(1.)  w.grad None"),
    "14 a parameter that is frozen too late": ("11", "belief-loss-run", "[0.0, 3.0]\n[-1.0, 4.0]"),
    "15 a leaf times a number, or in another dtype": ("08", "belief-leaf-run", "is_leaf: False"),
    "16 a step before the other backward pass": ("11", "early", "modified by an inplace operation\nscored again: True"),
    "17 which derivative needs the result": ("08", "open1", "y = a.sin(); y.add_(1)"),
    "18 a state handed on": ("05", "carried", "as it is: nodes that run in each backward: [2, 3, 4, 5]"),
    "19 a total of losses": ("21", "running-total-intro", "The graph of each step must be freed"),
    "20 .data and .numpy()": ("08", "versions", "such as `.data`, below, and `.numpy()`"),
    "21 clipping with a GradScaler": ("19", "open2-intro", "`scaler.unscale_(optimizer)` belongs"),
    "22 ties": ("19", "kinks", "x.max(0).values           [1.0, 0.0]"),
    "23 eval() or no_grad(), and memory": ("07", "memory", "eval(), no_grad        0 bytes"),
    "24 a penalty on gradients": ("12", "belief-every-run", "0.weight  .grad is None: False"),
}


@pytest.mark.parametrize("part", SHOWN)
def test_a_cell_of_a_lesson_shows_the_fact(part: str) -> None:
    lesson, id, words = SHOWN[part]
    cell = _cell(lesson, id)
    assert words in "\n".join([" ".join(cell.source.split()), *_printed(cell)]), part


def _cell(lesson: str, id: str) -> Any:
    (name,) = (path.stem for path in EXECUTED.glob(f"{lesson}_*.ipynb"))
    (cell,) = (cell for cell in executed(name).cells if cell.id == id)
    return cell


def _printed(cell: Any) -> list[str]:
    return [output.get("text") or output.get("evalue") or output.get("data", {}).get("text/plain", "")
            for output in cell.get("outputs", [])]


@pytest.mark.parametrize(("lesson", "id"), [("05", "in-place"), ("07", "inference"), ("09", "outputs"), ("18", "hooks"),
                                            ("18", "written-view"), ("19", "autocast"), ("22", "tangent"),
                                            ("07", "flag"), ("11", "early"), ("19", "kinks")])
def test_with_pytorch_the_cell_prints_the_same(lesson: str, id: str) -> None:
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    torch: ModuleType = importlib.import_module("torch")
    given = {"torch": torch, "w": torch.tensor([1.0, 2.0], requires_grad=True), "forward_ad": torch.autograd.forward_ad,
             "x": torch.tensor(3.0, requires_grad=True), "nn": torch.nn}
    cell, out = _cell(lesson, id), io.StringIO()
    # PyTorch's forward mode calls torch.jit.script, which PyTorch has deprecated.
    with contextlib.redirect_stdout(out), warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        try:
            exec(cell.source, given)
        except RuntimeError as error:
            print(error, end="")
    assert out.getvalue() == "".join(_printed(cell))


def test_every_question_has_a_fact() -> None:
    asked = [int(part.split()[0]) for part in SHOWN]
    assert set(asked) == set(range(1, 25))
    assert {each for each in asked if asked.count(each) > 1} >= set(range(1, 13))
