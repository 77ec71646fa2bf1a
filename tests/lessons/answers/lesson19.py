"""The key of lesson 19."""

from tests.lessons.answers.kinds import Key, Wrong


def entropy(instead: str, added: str, product: str = "good * good.log()") -> str:
    """The cell of the entropy."""
    return (f"def entropy(p):\n    good = torch.where(p > 0, p, {instead})\n"
            f"    return -torch.where(p > 0, {product}, {added}).sum()\n\n\ncheck.entropy(entropy)")


def log_sum_exp(*lines: str) -> str:
    """The cell of log-sum-exp."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"def log_sum_exp(x):\n{body}\n\ncheck.log_sum_exp(log_sum_exp)"


def scaled_step(*lines: str) -> str:
    """The cell of the step."""
    body = "".join(f"    {line}\n" for line in ("optimizer.zero_grad()", *lines))
    return f"def scaled_step(loss, parameters, optimizer, scaler, limit):\n{body}\n\ncheck.scaled_step(scaled_step)"


BACK, UNSCALE, UPDATE = "scaler.scale(loss).backward()", "scaler.unscale_(optimizer)", "scaler.update()"
CLIP, STEP = "torch.nn.utils.clip_grad_norm_(parameters, limit)", "scaler.step(optimizer)"
ENTROPY_WRONG: tuple[Wrong, ...] = (
    (entropy("0.0", "0.0"), "there is a NaN on the way"),
    (entropy("p", "0.0"), "not chosen has a slope that is infinite"),
    (entropy("1.0", "1.0"), "it should give"),
    (entropy("1.0", "p.log()"), "gives inf"),
    (entropy("1.0", "0.0", "p.detach() * good.log()"), "gives the gradient"),
    (entropy("1.0", "0.0", "(good * good.log()).detach()"), "cut from the graph"),
)
LOG_WRONG: tuple[Wrong, ...] = (
    (log_sum_exp("return x.exp().sum().log()"), "gives inf"),
    (log_sum_exp("m = x.max()", "return (x - m).exp().sum().log()"), "it should give 2.408"),
    (log_sum_exp("return x.max()"), "it should give 2.408"),
    (log_sum_exp("return x[0] + (x - x[0]).exp().sum().log()"), "[0.0, 1000.0] gives inf"),
    (log_sum_exp("m = x.max()", "return m + (x - m).exp().log()"), "of shape (3,)"),
    (log_sum_exp("x = x.detach()", "m = x.max()", "return m + (x - m).exp().sum().log()"), "cut from the graph"),
    (log_sum_exp("m = x.max()", "return (m + (x - m).exp().sum().log()).item()"), "it returned a float"),
)
STEP_WRONG: tuple[Wrong, ...] = (
    (scaled_step(BACK, CLIP, STEP, UPDATE), "Unscale first"),
    (scaled_step(BACK, UNSCALE, STEP, UPDATE), "the limit was 1"),
    (scaled_step(BACK, UNSCALE, CLIP.replace("limit", "1.0"), STEP, UPDATE), "should stay as they"),
    (scaled_step(BACK, UNSCALE, CLIP.replace("norm", "value"), STEP, UPDATE), "it should be [0.4"),
    (scaled_step("loss.backward()", CLIP, "optimizer.step()"), "was not scaled before backward"),
    (scaled_step(BACK, UNSCALE, CLIP, "optimizer.step()", UPDATE), "the step must be left out"),
    (scaled_step(BACK, UNSCALE, CLIP, STEP), "Update the scaler last"),
    (scaled_step(BACK, UNSCALE, CLIP), "the weights did not move"),
)

KEY = Key(
    recall={"q11.2": "0", "q11.4": "True", "q10.1": "2", "q10.3": "True", "q8.3": "True"},
    recall_wrong={
        "q11.2": (("1", "the optimizer knows my loss"),),
        "q11.4": (("False", "so the new w is a result"),),
        "q10.1": (("1", "the block runs once"),),
        "q10.3": (("False", "every run draws a new mask"),),
        "q8.3": (("False", "so it never causes an error"),),
    },
    predict={"19.1": "True", "19.2": "True", "19.3": "[0.6, 0.8]", "19.4": "True", "19.5": "512"},
    predict_wrong={
        "19.1": (("False", "anything times 0 is 0"),),
        "19.2": (("False", "nothing good can come back"),),
        "19.3": (("[1, 1]", "each entry is cut off"), ("[0.75, 1]", "the limit is for the largest entry")),
        "19.4": (("False", "is lost, whatever comes after"),),
        "19.5": (("1024", "the scale is fixed"), ("1", "nothing is scaled any more")),
    },
    why={"19.1": "b", "19.2": "a", "19.3": "b", "19.4": "c", "19.5": "a"},
    exercises={"faded": entropy("1.0", "0.0"),
               "open1": log_sum_exp("m = x.max()", "return m + (x - m).exp().sum().log()"),
               "open2": scaled_step(BACK, UNSCALE, CLIP, STEP, UPDATE)},
    exercises_wrong={"faded": ENTROPY_WRONG, "open1": LOG_WRONG, "open2": STEP_WRONG},
)
