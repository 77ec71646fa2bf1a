"""The key of the puzzles."""

import re

from tests.lessons.answers.kinds import Key, Wrong
from tests.lessons.play import lesson

# For each puzzle the line, and wrong lines with words of what they are told.
RIGHT = {
    "zeros": "return x * 0",
    "half-constant": "return x * x.detach()",
    "broadcast": "return x + torch.zeros(3, 4)",
    "no-nan": "return torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0)",
    "one-row": "y[1].backward()",
    "only-x": "loss.backward(inputs=[x])",
    "none-first": "return torch.ones(2) * w",
    "third-output": "return x.unbind()[2] * 1",
    "last-node": "return x.exp() + x.sin()",
    "twice": "return (x + 1).sum()",
    "twin": "return w.detach().requires_grad_()",
    "freeze": "model[0].requires_grad_(False)",
    "no-graph-error": "return x.detach().sum()",
    "recorded-anyway": "return torch.enable_grad()(lambda: w * 2)()",
    "alive": "return h * h",
    "let-go": "y.detach_()",
    "running-total": "return total + loss.item()",
    "in-place-step": "w.data -= 0.1 * w.grad",
    "modified-error": "y.add_(1)",
    "seen": "y.register_hook(seen.append)",
    "differentiable": "return torch.autograd.grad(y, x, create_graph=True)[0]",
}
WRONG: dict[str, tuple[Wrong, ...]] = {
    "zeros": (
        ("return x.detach()", "y has no grad_fn"),
        ("return torch.zeros(3)", "nothing was recorded"),
        ("return x - 1", "if x grows, y still changes"),
        ("return torch.zeros(3, requires_grad=True) * 1", "None means that there is no path"),
        ("return 0", "line must return a tensor; it returned an int"),
        ("return x.nothing", "line(x) raised AttributeError"),
        ("y = x * 0\n    return y", "a puzzle is solved by one line; yours has 2"),
    ),
    "half-constant": (
        ("return x * x", "both factors count"),
        ("return x * x / 2", "Leave the value as it is"),
        ("return x.detach() * x.detach()", "both factors are detached now"),
        ("return x * x.detach() + x - x.detach()", "it must be [3, -1]"),
    ),
    "broadcast": (
        ("return 12 * x", "It must hold one AddBackward0 and nothing else"),
        ("return x + 11", "Adding a number moves y, but does not change its slope"),
        ("return x + torch.zeros(11)", "x.grad is 11, one for each number of y"),
        ("return x.expand(12)", "the graph of y holds ExpandBackward0"),
    ),
    "no-nan": (
        ("return torch.where(x > 0, x.sqrt(), 0.0)", "0 times that is NaN"),
        ("return x.clamp(min=0).sqrt()", "Never let sqrt see those numbers"),
        ("return x.sqrt()", "y must be [0, 0, 2]; it is [nan, 0, 2]"),
        ("return x.sqrt().nan_to_num()", "x.grad is [nan"),
        ("return x.detach().clamp(min=0).sqrt()", "y has no grad_fn"),
    ),
    "one-row": (
        ("y.sum().backward()", "these are the slopes of y.sum()"),
        ("y.backward()", "grad can be implicitly created only for scalar outputs"),
        ("y[1]", "no backward pass has run"),
        ("y[0].backward()", "it must be [0, 4, 0]"),
    ),
    "only-x": (
        ("loss.backward()", "backward() fills every leaf that it reaches"),
        ("return torch.autograd.grad(loss, x)", "autograd.grad does not fill .grad"),
        ("w.requires_grad_(False)", "Leave w as it is"),
        ("loss.backward(inputs=[w])", "x.grad is None: no pass has filled it"),
    ),
    "none-first": (
        ("return w * 2", "w is the first operand of MulBackward0"),
        ("return 2 * w", "a plain number is never the first"),
        ("return w + w", "are (AccumulateGrad, 0), (AccumulateGrad, 0)"),
        ("return w.detach()", "nothing was recorded"),
    ),
    "third-output": (
        ("return x[2] * 1", "a node with one output has only the number 0"),
        ("return x.unbind()[2]", "the pair that says so belongs to the operation that uses y"),
        ("return x.unbind()[1] * 1", "the first pair of MulBackward0 is (UnbindBackward0, 1)"),
    ),
    "last-node": (
        ("return x.sin() + x.exp()", "it takes the one that was recorded last"),
        ("return torch.add(x.sin(), x.exp())", "AddBackward0, ExpBackward0, SinBackward0. Of the nodes that are ready"),
        ("return x.exp() - x.sin()", "it must still be sin(x) + exp(x)"),
        ("return x.exp().detach() + x.sin()", "the graph of y has no ExpBackward0"),
    ),
    "twice": (
        ("return (x * x).sum()", "MulBackward0 had saved values"),
        ("return (x * 2).sum()", "the first pass freed them"),
        ("return x + 1", "grad can be implicitly created only for scalar outputs"),
        ("return x.detach().sum()", "loss has no grad_fn"),
    ),
    "twin": (
        ("return w", "this is w itself"),
        ("return w.detach()", "it does not require grad"),
        ("return w.view(2)", "v is not a leaf: ViewBackward0 leads back to w"),
        ("return w.clone().detach().requires_grad_()", "it has memory of its own"),
    ),
    "freeze": (
        ("model[0].eval()", "eval() changes what dropout and batch normalisation do"),
        ("model[0].requires_grad = False", "the assignment made a new attribute"),
        ("model[0].weight.requires_grad = False", "0.bias still gets a gradient"),
        ("model.requires_grad_(False)", "there is nothing left to learn"),
        ("model[0].requires_grad_(False), model[2].bias.requires_grad_(False)", "only 2.weight requires grad now"),
        ("model[0].zero_grad()", "both parameters of model[0] still get a gradient"),
    ),
    "no-graph-error": (
        ("return x.sum()", "backward raised nothing"),
        ("return x.sum() * 0", "A gradient of zero is not an error"),
        ("return torch.tensor(1.0)", "It must change with x"),
        ("return x * 2", "another error: RuntimeError: grad can be implicitly created only for scalar outputs"),
    ),
    "recorded-anyway": (
        ("return w * 2", "under no_grad nothing was recorded"),
        ("return (w * 2).requires_grad_()", "its gradient would stay in y.grad"),
        ("return torch.enable_grad()(lambda: w)()", "it must be [2, 4]"),
    ),
    "alive": (
        ("return h + 1", "AddBackward0 saved nothing"),
        ("return h * 2", "MulBackward0 saved other = 2"),
        ("return h.exp()", "ExpBackward0 saved result ="),
        ("return h.view(2)", "y uses the memory of h itself"),
        ("return h.detach() * 2", "y has no grad_fn"),
        ("return setattr(line, 'kept', h) or h * h", "Something other than the graph of y holds it"),
    ),
    "let-go": (
        ("y.detach()", "y still has its MulBackward0"),
        ("y = None", "rebinding the name y in your function"),
        ("y.sum().backward()", "here x.grad must stay None"),
        ("y.detach_().zero_()", "the graph is gone, but y now holds [0, 0]"),
    ),
    "running-total": (
        ("return total + loss", "5 of 5 graphs are still in memory"),
        ("return total + loss.clone()", "In a long training run this fills the memory"),
        ("return loss.item()", "after 5 steps the total is"),
        ("print(total)", "line must return the new total; it returned None"),
    ),
    "in-place-step": (
        ("w.sub_(0.1 * w.grad)", "a leaf Variable that requires grad is being used in an in-place operation"),
        ("w = w - 0.1 * w.grad", "w is unchanged"),
        ("w.data += 0.1 * w.grad", "w went uphill"),
        ("w.detach_().requires_grad_(False).sub_(0.1 * w.grad)", "w is no longer a leaf that requires grad"),
        ("w.data -= w.grad", "it must be [0.8, 1.6]"),
    ),
    "modified-error": (
        ("y = y + 1", "The y of the program is unchanged"),
        ("y.data.add_(1)", "A change through .data is not counted"),
        ("x.add_(1)", "a leaf Variable that requires grad"),
    ),
    "seen": (
        ("y.retain_grad()", "retain_grad() keeps the gradient in y.grad"),
        ("seen.append(None)", "Your line runs before backward does"),
        ("y.register_hook(print)", "seen is empty"),
        ("y.register_hook(lambda g: seen.append(g) or g * 0)", "what a hook returns replaces the gradient"),
        ("y.register_hook(lambda: seen.append(1))", "backward called your hook, and it raised TypeError"),
    ),
    "differentiable": (
        ("return torch.autograd.grad(y, x, retain_graph=True)[0]", "it does not require grad"),
        ("return torch.autograd.grad(y, x, create_graph=True)", "Take the first"),
        ("return 3 * x ** 2", "Compute it from y, whatever y is"),
        ("y.backward()", "line must return a tensor; it returned None"),
    ),
}
GIVEN = {cell.id: cell.source for cell in lesson("21_puzzles").cells}


def solved_by(cell: str, line: str) -> str:
    """The cell of a puzzle with a line in the place of its dots."""
    return re.sub(r"(return )?\.\.\.", lambda dots: line, GIVEN[cell], count=1)


KEY = Key(recall={}, recall_wrong={}, predict={}, predict_wrong={}, why={},
          exercises={cell: solved_by(cell, line) for cell, line in RIGHT.items()},
          exercises_wrong={cell: tuple((solved_by(cell, line), words) for line, words in wrong)
                           for cell, wrong in WRONG.items()})
