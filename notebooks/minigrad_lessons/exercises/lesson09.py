"""The checks of lesson 9: Functions of one's own."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeGuard

import minigrad as torch
from minigrad.autograd.function import once_differentiable
from minigrad_lessons.exercises import report
from minigrad_lessons.values import plain, same, show

Make = Callable[[torch.Tensor], tuple[Any, ...]]


def _ready(name: str, student: Any, called: str) -> bool:
    """True for a Function whose blanks are filled; else it has been said what is missing."""
    if not isinstance(student, type) or not issubclass(student, torch.autograd.Function):
        report.misconception(name, f"pass the class itself, a torch.autograd.Function: {name}({called})")
        return False
    if any(report.has_dots(getattr(student, part)) for part in ("forward", "backward")):
        report.not_yet(name, f"Fill in the blanks of {called}.")
        return False
    return True


def _gradients(name: str, student: Any, inputs: list[torch.Tensor], wanted: Callable[..., torch.Tensor],
               given: torch.Tensor, faults: tuple[tuple[str, str], ...]) -> list[Any] | None:
    """The gradients of the inputs, or None after it was told why there are none."""
    try:
        out = student.apply(*inputs)
        if not isinstance(out, torch.Tensor) or out.shape != (right := wanted(*inputs)).shape:
            report.misconception(name, "forward must return the result, one tensor.")
        elif not torch.allclose(out, right):
            report.misconception(name, f"forward returns {show(out)}; it should be {show(right)}.")
        else:
            out.backward(given)
            return [t.grad for t in inputs]
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        told = next((fault for words, fault in faults if words in str(error)), None)
        if told:
            report.misconception(name, told, report.first_line(error))
        else:
            report.misconception(name, f"{student.__name__} {report.raised(error, student.backward)}")
    return None


def square(student: Any) -> None:
    """Judge a Function for x * x: its value, its gradient, how it keeps x, and its second derivative."""
    name = "check.square"
    if not _ready(name, student, "Square"):
        return
    x, given = torch.tensor([3.0, -1.0], requires_grad=True), torch.tensor([1.0, 10.0])
    faults = (("not iterable", "saved_tensors is a tuple, even if only one tensor was saved: x, = ctx.saved_tensors"),
              ("unpack", "forward must save exactly one tensor: the one that backward unpacks."),
              ("expected Variable", "backward must return a tensor."),
              ("number of gradients", "forward has one input, so backward returns one gradient."),
              ("expected shape", "the gradient must have the shape of x: one number for each number of x."))
    found = _gradients(name, student, [x], lambda x: x * x, given, faults)
    if found is None:
        return
    fault = _why_not_square(found[0], x.detach(), given) or _kept_badly(student)
    if fault:
        report.misconception(name, fault)
        return
    report.passed(name, "for the gradient [1, 10] at x = [3, -1] it returns [6, -20]",
                  "x went through save_for_backward: a change in place is noticed",
                  "its second derivative is 2")


def _why_not_square(found: Any, x: torch.Tensor, given: torch.Tensor) -> str:
    if found is None:
        return "backward returned None: no gradient arrives at x."
    rules = {
        "": given * 2 * x,
        "the incoming gradient is lost: backward gets grad, and passes on grad * 2 * x.": 2 * x,
        "2 * x * x: what was saved is the result, and the derivative needs the input.": given * 2 * x * x,
        "the factor 2 is missing: x is used twice, and each use contributes a gradient.": given * x,
        "backward passes grad on unchanged: that is the derivative of x, not of x * x.": given,
        "x is missing: grad * 2 belongs to 2 * x. The slope of x * x is different at each x.": given * 2,
    }
    return next((text for text, right in rules.items() if torch.allclose(found, right)),
                f"for the gradient {show(given)} at x = {show(x)} it returns {show(found)}; "
                f"{show(given * 2 * x)} is right.")


def _kept_badly(student: Any) -> str:
    """Whether x was kept so that changes are noticed and a second derivative is possible."""
    x = torch.tensor(3.0, requires_grad=True)
    first, = torch.autograd.grad(student.apply(x), x, create_graph=True)
    if not first.requires_grad:
        return "its gradient cannot be differentiated again: keep the input itself, not a copy without history."
    if torch.autograd.grad(first, x)[0].item() != 2.0:
        return "its first derivative is right, but its second is not 2."
    h = x * 1
    y = student.apply(h)
    with torch.no_grad():
        h.mul_(10.0)
    try:
        y.backward()
    except RuntimeError:
        return ""
    return "x was kept as an attribute of ctx: a later change in place silently gives a wrong gradient. " \
           "Use ctx.save_for_backward(x)."


MATMUL_FAULTS = (
    ("got [3, 4] but expected shape compatible with [2, 3]",
     "the two gradients are in the wrong order: first that of a, then that of b."),
    ("incorrect number of gradients (expected 2",
     "forward has two inputs, so backward returns two gradients, with a comma between them. A list counts as one."),
    ("index 0 - got [4, 3]", "the first gradient has the shape of b.T. It is a product of grad with b transposed."),
    ("shapes cannot be multiplied", "the shapes do not fit. In each of the two products one factor is transposed."),
    ("must match the size", "* multiplies entry by entry; the derivative of a @ b is a matrix product again."),
    ("got [4, 3]", "the gradient of b came out transposed: it must have the shape of b."),
    ("got [3, 2]", "the gradient of a came out transposed: it must have the shape of a."),
)


def matmul(student: Any) -> None:
    """Judge a Function for the product of two matrices."""
    name = "check.matmul"
    if not _ready(name, student, "MatMul"):
        return
    a = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    b = torch.tensor([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 1.0, 3.0], [1.0, 1.0, 0.0, 2.0]], requires_grad=True)
    given = torch.tensor([[1.0, 2.0, 0.0, 1.0], [0.0, 1.0, 3.0, 1.0]])
    found = _gradients(name, student, [a, b], lambda a, b: a @ b, given, MATMUL_FAULTS)
    if found is None:
        return
    with torch.no_grad():
        right, ones = [given @ b.T, a.T @ given], torch.ones_like(given)
        unfed = [ones @ b.T, a.T @ ones]
    for letter, grad, wanted, lost in zip("ab", found, right, unfed, strict=True):
        if grad is None:
            report.misconception(name, f"{letter} gets no gradient: backward returned None for it.")
            return
        if torch.allclose(grad, lost):
            report.misconception(name, f"the incoming gradient is lost on its way to {letter}: use grad.")
            return
        if not torch.allclose(grad, wanted):
            report.misconception(name, f"{letter}.grad is {show(grad)}; it should be {show(wanted)}.")
            return
    report.passed(name, "grad @ b.T has the shape of a, a.T @ grad the shape of b: both are those of PyTorch's matmul")


RETURNS: dict[str, Make] = {
    "grad": lambda grad: (grad,),
    "grad, grad": lambda grad: (grad, grad),
    "grad, None": lambda grad: (grad, None),
    "grad, grad, None": lambda grad: (grad, grad, None),
    "grad, grad, grad": lambda grad: (grad, grad, grad),
    "grad, grad.sum()": lambda grad: (grad, grad.sum()),
    "grad, torch.ones(3, 2)": lambda grad: (grad, torch.ones(3, 2)),
    "grad, 1.0": lambda grad: (grad, 1.0),
}
KINDS = ("fine", "number", "shape", "type")
BELIEFS = {
    ("grad", "fine"): "an input for which nothing is returned gets None",
    ("grad, None", "type"): "None is not a gradient, so it is a wrong type",
    ("grad, None", "number"): "None does not count",
    ("grad, grad, None", "number"): "an extra None is an extra gradient",
    ("grad, grad, grad", "fine"): "extra gradients are ignored",
    ("grad, grad.sum()", "fine"): "one number is broadcast to the shape of the input",
    ("grad, torch.ones(3, 2)", "shape"): "a gradient must have exactly the shape of its input",
    ("grad, 1.0", "fine"): "a number is a tensor with one number in it",
    ("grad, 1.0", "shape"): "a number is a tensor with one number in it",
}


def happens(returned: str) -> str:
    """What happens if the backward of a Function with two inputs of shape [2] returns this."""
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return a * b

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
            return RETURNS[returned](grad)

    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    try:
        Two.apply(a, b).sum().backward()
    except RuntimeError as error:
        words = {"number of gradients": "number", "expected shape": "shape", "expected Variable": "type"}
        return next(kind for text, kind in words.items() if text in str(error))
    return "fine"


def _filled(answers: object, name: str, keys: Collection[str], words: str) -> TypeGuard[Mapping[str, object]]:
    """True for the dictionary of an exercise whose dots are replaced; else it has been said what is missing."""
    if not isinstance(answers, Mapping) or set(answers) != set(keys):
        report.misconception(name, f"pass the dictionary with its {len(keys)} keys, as it was given.")
        return False
    if any(said is ... for said in answers.values()):
        report.not_yet(name, f"Write {words} in place of the dots.")
        return False
    return True


def returns(answers: object) -> None:
    """Judge what a student expects of each `return`: "fine", or an error about the number, the shape or the type."""
    name = "check.returns"
    if not _filled(answers, name, RETURNS, '"fine", "number", "shape" or "type"'):
        return
    for code, said in answers.items():
        word, found = str(said).strip().lower(), happens(code)
        if word not in KINDS:
            report.misconception(name, f"return {code}: {show(said)} is not one of {', '.join(KINDS)}.")
            return
        if word != found:
            belief = BELIEFS.get((code, word))
            report.misconception(
                name, f'you may be thinking: "{belief}"' if belief else
                "put this return into a Function of your own and read its error, or ask hint(\"returns\").",
                f"return {code}: you say {word}, the run says {found}.")
            return
    report.passed(name, *(f"return {code}: {happens(code)}" for code in RETURNS))


def straight_through(student: Any) -> None:
    """Judge a Function that rounds, and lets the gradient through as if it did not."""
    name = "check.straight_through"
    if not _ready(name, student, "RoundThrough"):
        return
    x, given = torch.tensor([0.2, 1.7, -2.6], requires_grad=True), torch.tensor([1.0, 10.0, 0.5])
    faults = (("not iterable", "one input: return one gradient."),
              ("expected Variable", "backward must return a tensor."),
              ("did not match Float", "x.round() rounds and keeps the dtype. Integers cannot require grad."))
    found = _gradients(name, student, [x], torch.round, given, faults)
    if found is None:
        return
    rules = {
        "no gradient arrives: backward returned None.": None,
        "zero is the true derivative of rounding, and nothing learns from it. Here the gradient should pass as if "
        "nothing had been rounded.": torch.zeros(3),
        "ones, whatever came in: the incoming gradient is lost. Pass on grad.": torch.ones(3),
        "the gradient was rounded too; round only the value.": given.round(),
        "x times the gradient: that is the derivative of x * x / 2.": given * x.detach(),
    }
    for text, wrong in rules.items():
        if found[0] is wrong or (wrong is not None and found[0] is not None and torch.allclose(found[0], wrong)):
            report.misconception(name, text)
            return
    if not torch.allclose(found[0], given):
        report.misconception(name, f"for the gradient {show(given)} it returns {show(found[0])}.")
        return
    report.passed(name, "forward rounds; the gradient [1, 10, 0.5] comes through unchanged",
                  "torch.round itself would send back zeros")


MARKS = ("in place", "in place, mark_dirty", "mask", "mask, mark_non_differentiable", "cube",
         "cube, once_differentiable")
MARK_BELIEFS = (
    ("in place", 2, "h is in the graph, so what forward does to it is recorded"),
    ("in place", "error", "a change that is not marked is found, and refused"),
    ("in place, mark_dirty", 1, "the mark only counts the version up"),
    ("in place, mark_dirty", "error", "marking a tensor dirty forbids its use"),
    ("mask", False, "what comes from a comparison never requires grad"),
    ("mask, mark_non_differentiable", True, "every output of apply requires grad"),
    ("cube", 30, "with create_graph=True whatever backward does is differentiated"),
    ("cube", "error", "a backward that leaves the graph is found out"),
    ("cube, once_differentiable", 30, "the mark makes the second derivative right"),
    ("cube, once_differentiable", 18, "the mark is a note for readers, and changes nothing"),
)


def marked(program: str) -> object:
    """What a program of the exercise about marks gives: its gradient, the flag of its mask, or "error"."""
    what, _, mark = program.partition(", ")

    class Marked(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, h: torch.Tensor) -> Any:
            ctx.save_for_backward(h)
            positive = h.gt(0).float()
            if mark == "mark_dirty":
                ctx.mark_dirty(h)
            if mark == "mark_non_differentiable":
                ctx.mark_non_differentiable(positive)
            return h.mul_(2) if what == "in place" else (h * positive, positive) if what == "mask" else h ** 3

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
            return grad * 2 if what == "in place" else grad * 3 * ctx.saved_tensors[0].detach() ** 2

    if mark == "once_differentiable":
        Marked.backward = staticmethod(once_differentiable(Marked.backward))  # type: ignore[method-assign]  # as @ does
    x = torch.tensor(1.0, requires_grad=True)
    y = Marked.apply(h := x * 1)
    if what == "mask":
        return y[1].requires_grad
    if what == "in place":
        return torch.autograd.grad(h, x)[0].item()
    first, = torch.autograd.grad(y * y, x, create_graph=True)
    try:
        return torch.autograd.grad(first, x)[0].item()
    except RuntimeError:
        return "error"


def marks(answers: object) -> None:
    """Judge what a student expects of six programs, three of them with a mark of `ctx` or `backward`."""
    name = "check.marks"
    if not _filled(answers, name, MARKS, 'a number, True, False or "error"'):
        return
    for program in MARKS:
        said, found = answers[program], marked(program)
        if not same(said, found):
            if misfit := _no_answer(program, said, found):
                report.misconception(name, misfit)
                return
            belief = next((text for key, wrong, text in MARK_BELIEFS if key == program and same(said, wrong)), None)
            report.misconception(
                name, f'you may be thinking: "{belief}"' if belief else
                "write this Function in a cell of your own and run it, or ask hint(\"marks\").",
                f"{program}: you say {show(said)}, the run says {show(found)}.")
            return
    report.passed(name, *(f"{program}: {show(marked(program))}" for program in MARKS))


def _no_answer(program: str, said: object, found: object) -> str:
    """What to say of an answer that cannot be one, such as a number for a flag; empty if it can."""
    answer = plain(said)
    if isinstance(found, bool):
        return "" if isinstance(answer, bool) else f"{program}: requires_grad is True or False, not {show(said)}."
    number = isinstance(answer, int | float) and not isinstance(answer, bool)
    return "" if number or answer == "error" else f'{program}: a gradient is a number, or "error"; not {show(said)}.'


HINTS = {
    "square": (
        "Which value does the derivative of x * x need? Save that one, and nothing else.",
        "backward gets grad, the gradient of the result. By the chain rule it passes on grad times the derivative.",
        "Save x. Return grad * 2 * x.",
    ),
    "matmul": (
        "Each gradient has the shape of its input. Which products of grad, a and b have these shapes?",
        "grad is [2, 4], b is [3, 4]: with b transposed the product is [2, 3], the shape of a.",
        "Save a and b. Return grad @ b.T, a.T @ grad, in this order.",
    ),
    "returns": (
        "Ask three questions, in this order: are there as many as inputs? Is each a tensor or None? Does each shape "
        "fit?",
        "None counts as a gradient. After the last input, there may be extra values only if they are None.",
        "A shape fits if it can be summed down to that of the input: [3, 2] can become [2], [] cannot.",
    ),
    "marks": (
        "Without a mark, apply knows nothing of what forward did: which node does h keep, and which outputs get one?",
        "mark_dirty gives h the node of apply. A gradient made from a detached tensor lacks a part when it is "
        "differentiated; once_differentiable puts an error in its place.",
        "In order: 1, 2, True, False, a number that is too small (2 * 3 * 3), and an error.",
    ),
    "straight_through": (
        "Two methods that do not match: one rounds, the other pretends that nothing happened.",
        "backward needs nothing from forward, so nothing is saved.",
        "forward returns x.round(), backward returns grad.",
    ),
}
