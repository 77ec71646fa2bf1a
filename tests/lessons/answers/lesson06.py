"""The key of lesson 6."""

from tests.lessons.answers.kinds import Key, Wrong

CLIP = """def clip(most):
    def hook(grad):
        norm = grad.norm()
        if norm > most:
            return grad * (most / norm)

    return hook


check.clip(clip)"""

WATCH = """def watch(model):
    log = {}
    for name, parameter in model.named_parameters():
        log[name] = []
        parameter.register_hook(lambda grad, name=name: log[name].append(grad.norm().item()))
    return log


check.watch_layers(watch)"""


def order(letters: str) -> str:
    """The cell of the seven events."""
    return f"order = {letters!r}\ncheck.event_order(order)"


CLIP_WRONG: tuple[Wrong, ...] = (
    (CLIP.replace("if norm > most:", "if True:"), "a gradient that was short enough was changed"),
    (CLIP.replace("if norm > most:", "if norm < most:"), "a long gradient went on unchanged"),
    (CLIP.replace("most / norm", "norm / most"), "the factor is upside down"),
    (CLIP.replace("grad * (most / norm)", "grad.clamp(-most, most)"), "each number was clipped by itself"),
    (CLIP.replace("(most / norm)", "(1 / norm)"), "the norm is 1 now, whatever most is"),
    (CLIP.replace("return grad * (most / norm)", "grad = grad * (most / norm)"), "None leaves the gradient as it is"),
    (CLIP.replace("grad * (most / norm)", "norm"), "a norm is one number"),
    (CLIP.replace("grad * (most / norm)", "1.0"), "a hook returns a tensor"),
    (CLIP.replace("if norm > most:", "if norm != most:"), "a gradient that was short enough was changed"),
    (CLIP.replace("    return hook", "    return None"), "clip(most) returns the hook itself"),
    (CLIP.replace("return grad * (", "grad.mul_("), "the hook modified the gradient"),
    (CLIP.replace("(most / norm)", "0.2"), "its norm is 2 now"),
)
ORDER_WRONG: tuple[Wrong, ...] = (
    (order("EFAGBDC"), "this is the order of registration"),
    (order("BDGAFCE"), "y.grad keeps what all hooks of the tensor have left"),
    (order("DGBAFCE"), "y.grad is kept before the node's own hooks run"),
    (order("GDBAFCE"), "tensor hooks run before pre-hooks"),
    (order("DBAGFCE"), "a pre-hook runs before its node"),
    (order("DBGACFE"), "so it runs before x.grad is added to"),
    (order("DBGAFEC"), "runs after x.grad has been added to"),
    (order("FDBGACE"), "x comes after y's node: before that, no gradient has reached x"),
    (order("DBG"), "each of the letters ABCDEFG once"),
)
WATCH_WRONG: tuple[Wrong, ...] = (
    (WATCH.replace("grad, name=name:", "grad:"), "everything went into the list of the last parameter"),
    (WATCH.replace("register_hook(lambda grad, name=name: log[name].append(grad.norm().item()))",
                   "register_post_accumulate_grad_hook(lambda p, name=name: log[name].append(p.grad.norm().item()))"),
     "these are norms of .grad, the sum over the passes"),
    (WATCH.replace("log[name].append(grad.norm().item())", "grad * 0.5"), "the gradients were changed"),
    (WATCH.replace("        parameter.register_hook", "        lambda: parameter.register_hook"), "nothing was logged"),
    (WATCH.replace("grad.norm().item()", "grad"), "whole gradients were logged"),
    (WATCH.replace("log[name] = []", "log[name] = 0.0").replace("log[name].append(grad.norm().item())", "None"),
     "it should be a list"),
    (WATCH.replace("grad.norm().item()", "'norm'"), "something that is not a number"),
    (WATCH.replace("grad.norm()", "parameter.grad.norm()"), "A tensor hook runs before .grad is added to"),
    (WATCH.replace("lambda grad, name=name: ", "").replace("grad.norm()", "parameter.norm()"),
     "register_hook takes the hook itself"),
    (WATCH.replace("    return log", "    return None"), "watch must return the dictionary"),
    (WATCH.replace("model.named_parameters()", "list(model.named_parameters())[:2]"), "there is no list for 2.bias"),
    (WATCH.replace("log[name].append(grad.norm().item())", "grad.norm()"), "a norm is one number"),
    (WATCH.replace("grad.norm()", "grad.sum()"), "the norms of its two gradients are"),
)

KEY = Key(
    recall={"q2.4": "[True, False, True]", "q4.3": "[2, 20]", "q4.5": "False", "q5.3": "1", "q5.4": "4"},
    recall_wrong={
        "q2.4": (("[True, False, False]", "retains_grad is False for every leaf"),
                 ("[False, True, True]", "a result stays a result")),
        "q4.3": (("[2, 2]", "the numbers in it do not matter"), ("[22, 22]", "y becomes one number first, by summing")),
        "q4.5": (("True", "retain_graph and create_graph are the same"),),
        "q5.3": (("2", "once for each edge that leads to it"),),
        "q5.4": (("1", "the mean of the parts is the mean of the whole"),),
    },
    predict={"6.1": "10", "6.2": "3000", "6.3": "3", "6.4": "60", "6.5": "1"},
    predict_wrong={
        "6.1": (("1", "in the order in which I registered them"), ("1000", "y.grad is what goes on in the end"),
                ("100", "only a hook of the node changes it")),
        "6.2": (("3", "hooks only look, and change nothing"), ("30", "what is in y.grad goes on"),
                ("300", "a hook of the tensor only looks")),
        "6.3": (('"None"', "means that there is no gradient"), ("6", "whatever a hook computes goes on")),
        "6.4": (("330", "the hook gets .grad, with what was in it before"), ("33", "a hook runs once")),
        "6.5": (("2", "grad runs the same hooks as backward"), ("0", "grad runs no hooks")),
    },
    why={"6.1": "b", "6.2": "c", "6.3": "a", "6.4": "b", "6.5": "a"},
    exercises={"faded": CLIP, "open1": order("DBGAFCE"), "open2": WATCH},
    exercises_wrong={"faded": CLIP_WRONG, "open1": ORDER_WRONG, "open2": WATCH_WRONG},
)
