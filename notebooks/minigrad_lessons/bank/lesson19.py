"""Lesson 19: its predictions."""

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why

QUESTIONS: tuple[Question, ...] = ()
INFINITE = float("inf")


def _gradient(code: str, values: list[float]) -> torch.Tensor:
    x = torch.tensor(values, requires_grad=True)
    eval(code, {"x": x, "torch": torch}).sum().backward()
    assert x.grad is not None
    return x.grad


def breaks(code: str) -> bool:
    """Whether x.grad has a NaN, for x = [4, 0]."""
    return bool(_gradient(code, [4.0, 0.0]).isnan().any())


def finite(code: str) -> bool:
    """Whether all of x.grad is finite, for x = [1000, 0]."""
    return bool(_gradient(code, [1000.0, 0.0]).isfinite().all())


def clipped(kind: str, limit: float) -> list[float]:
    """What becomes of the gradient [3, 4]; `kind` is "norm" or "value"."""
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.tensor([3.0, 4.0])
    if kind == "norm":
        torch.nn.utils.clip_grad_norm_([w], limit)
    else:
        torch.nn.utils.clip_grad_value_([w], limit)
    return [round(float(entry), 3) for entry in w.grad.tolist()]


def kept(dtype: str, scale: float) -> bool:
    """Whether the gradient of x * 1e-4 * 1e-4 * scale is different from 0 in this dtype."""
    x = torch.tensor(1.0, dtype=getattr(torch, dtype), requires_grad=True)
    (x * 1e-4 * 1e-4 * scale).backward()
    assert x.grad is not None
    return bool(x.grad.item() != 0)


def scale_after(*gradients: str) -> float:
    """The scale, 1024 at first, after a step with each of these gradients, "finite" or "infinite"."""
    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for gradient in gradients:
        optimizer.zero_grad()
        scaler.scale(w * (1.0 if gradient == "finite" else INFINITE)).backward()
        scaler.step(optimizer)
        scaler.update()
    return float(scaler.get_scale())


def _names() -> Names:
    return {"breaks": breaks, "finite": finite, "clipped": clipped, "kept": kept, "scale_after": scale_after}


def _cut(kind: object, limit: object) -> list[float]:
    """What somebody expects who knows that a norm is 5, and what cutting off means."""
    most = float(str(limit))
    factor = min(1.0, most / 5)
    return [round(3 * factor, 3), round(4 * factor, 3)] if kind == "norm" else [min(3.0, most), min(4.0, most)]


def _code(case: Case) -> str:
    return str(case.arguments()[0])


PREDICTIONS = (
    Prediction(
        "19.1",
        (Belief("anything times 0 is 0", lambda: breaks("torch.where(x > 0, x, 1.0).sqrt() * (x > 0)")),),
        Why("When is an entry of x.grad NaN?", _names,
            ('breaks("x.sqrt() * (x > 0)")', 'breaks("torch.where(x > 0, x, 1.0).sqrt()")',
             'breaks("torch.where(x > 0, x.sqrt(), 0.0)")', 'breaks("(x + 1).sqrt()")', 'breaks("x.sqrt()")'),
            lambda value: value, {
                "a": Reason("when a value of the forward pass is NaN or infinite", lambda case: False),
                "b": Reason("when a gradient of 0 meets a slope that is infinite",
                            lambda case: "x.sqrt()" in _code(case) and _code(case) != "x.sqrt()"),
                "c": Reason("whenever a square root and a 0 are in one formula",
                            lambda case: "+ 1" not in _code(case))}),
        look="Print x.sqrt().grad_fn(torch.tensor([1.0, 0.0])): the product sends the mask, [1, 0], to that node."),
    Prediction(
        "19.2",
        (Belief("exp(1000) is infinite, so nothing good can come back", lambda: finite("x.exp().sum().log()")),),
        Why("Which of these have a finite gradient?", _names,
            ('finite("torch.logsumexp(x, 0)")', 'finite("x.exp().sum().log()")',
             'finite("torch.softmax(x, 0)[1].log()")', 'finite("torch.log_softmax(x, 0)[1]")'),
            lambda value: value, {
                "a": Reason("those that take the logarithm in the same operation as the exponential",
                            lambda case: "log" in _code(case).split("(")[0].split(".")[-1]),
                "b": Reason("those that subtract the maximum somewhere, as softmax does",
                            lambda case: ".exp()" not in _code(case)),
                "c": Reason("none: 1000 is too large for an exponential", lambda case: False)}),
        look="Print torch.logsumexp(x, 0) and x.exp().sum().log()."),
    Prediction(
        "19.3",
        (Belief("each entry is cut off at the limit", lambda: clipped("value", 1.0)),
         Belief("the limit is for the largest entry, the others follow", lambda: [0.75, 1.0])),
        Why("What do the two ways of clipping do?", _names,
            ('clipped("norm", 1.0)', 'clipped("value", 1.0)', 'clipped("norm", 10.0)', 'clipped("value", 3.5)'),
            lambda value: value, {
                "a": Reason("both cut off each entry",
                            lambda case: _cut("value", case.arguments()[1])),
                "b": Reason("norm multiplies all entries by one factor, if their length is above the limit; value cuts "
                            "off each entry", lambda case: _cut(*case.arguments())),
                "c": Reason("norm sets the length to the limit, always; value cuts off each entry",
                            lambda case: _cut(*case.arguments()) if case.arguments()[0] == "value" else
                            [round(entry * float(str(case.arguments()[1])) / 5, 3) for entry in (3, 4)])}),
        look="Print the length of the gradient, w.grad.norm(), before and after."),
    Prediction(
        "19.4",
        (Belief("what is too small for float16 is lost, whatever comes after", lambda: kept("float16", 1.0)),),
        Why("When is the gradient lost?", _names,
            ('kept("float16", 1.0)', 'kept("float16", 1024.0)', 'kept("float32", 1.0)', 'kept("float16", 2.0)'),
            lambda value: value, {
                "a": Reason("in float16, always: the loss itself is 0 there",
                            lambda case: case.arguments()[0] != "float16"),
                "b": Reason("in float16 without a scale; with one, every gradient is kept",
                            lambda case: case.arguments() != ["float16", 1.0]),
                "c": Reason("in float16, where even the scaled gradient is below 0.00000003: it is scaled before it "
                            "becomes small", lambda case: case.arguments()[0] != "float16"
                            or 1e-8 * float(str(case.arguments()[1])) > 3e-8)}),
        look="Print the loss and x.grad: the loss is 0. Backward starts from 1, and multiplies by 1024 first."),
    Prediction(
        "19.5",
        (Belief("the scale is fixed", lambda: scale_after("finite")),
         Belief("after a bad step nothing is scaled any more", lambda: 1.0)),
        Why("When does the scale change?", _names,
            ('scale_after("infinite")', 'scale_after("finite")', 'scale_after("infinite", "infinite")',
             'scale_after("infinite", "finite")'),
            lambda value: value, {
                "a": Reason("it is halved by each step with a gradient that is infinite or NaN",
                            lambda case: 1024.0 / 2 ** case.arguments().count("infinite")),
                "b": Reason("it is halved by a bad step, and doubled by a good one",
                            lambda case: 1024.0 * 2.0 ** sum(1 if each == "finite" else -1
                                                             for each in case.arguments())),
                "c": Reason("never: it was chosen when the scaler was made", lambda case: 1024.0)}),
        look="Print w and scaler.get_scale() after a step with each kind of gradient."),
)
