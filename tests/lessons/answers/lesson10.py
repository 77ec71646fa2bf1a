"""The key of lesson 10."""

from tests.lessons.answers.kinds import Key, Wrong

HOOKS = """def my_checkpoint(block, x):
    numbers, kept = [], []

    def pack(value):
        numbers.append(len(numbers))
        return numbers[-1]

    def unpack(number):
        if not kept:
            collect = torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.detach()), lambda n: None)
            with torch.enable_grad(), collect:
                block(x.detach().requires_grad_())
        return kept[number]

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return block(x)


check.by_hooks(my_checkpoint)"""


def segments(result: str) -> str:
    """The cell of the number of segments."""
    return f"def segments(n):\n    return {result}\n\n\ncheck.segments(segments)"


def unstable(line: str) -> str:
    """The cell of the block that differs in its second run."""
    return f"def unstable(x, again):\n    {line}\n    return x.exp().sin()\n\n\ncheck.unstable(unstable)"


HOOKS_WRONG: tuple[Wrong, ...] = (
    (HOOKS.replace("return numbers[-1]", "return value").replace("        if not kept:", "        return number\n"
                   "        if not kept:"), "this keeps all values"),
    (HOOKS.replace("if not kept:", "if True:\n            kept.clear()"), "the block ran again for each value"),
    (HOOKS.replace("return kept[number]", "return kept[0]"), "the gradient is wrong"),
    (HOOKS.replace("return kept[number]", "return kept[-1 - number]"), "the gradient is wrong"),
    (HOOKS.replace("enable_grad", "no_grad"), "nothing was collected in the second run"),
    (HOOKS.replace("return kept[number]", "return number"), "unpack returned the number"),
    (HOOKS.replace("        return kept[number]", "        kept[number]"), "must return the value that was kept"),
    (HOOKS.replace("return kept[number]", "return kept"), "unpack returned the whole list"),
    (HOOKS.replace("return numbers[-1]", "return len(numbers)"), "the numbers do not begin at 0"),
    (HOOKS.replace("return numbers[-1]", "return numbers"), "pack must return one number"),
    (HOOKS.replace("return numbers[-1]", "return value"), "pack must return one number"),
    (HOOKS.replace("    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):\n        return block(x)",
                   "    return block(x)"), "this keeps all values"),
    (HOOKS.replace("    with torch.autograd", "    block(x)\n    with torch.autograd"), "ran 2 times"),
)
SEGMENTS_WRONG: tuple[Wrong, ...] = (
    (segments("1"), "one segment keeps only one input"),
    (segments("n"), "a segment for each layer"),
    (segments("4"), "the same number for all depths"),
    (segments("n.bit_length() - 1"), "When is k + n / k smallest?"),
    (segments("n // 2"), "When is k + n / k smallest?"),
    (segments("n ** 0.5 + 0.5"), "it should be a whole number"),
    (segments("2 * n"), "cannot be cut into 18 segments"),
)
UNSTABLE_WRONG: tuple[Wrong, ...] = (
    (unstable("x = x.double() if again else x"), "the shape is the same, only the dtype differs"),
    (unstable("pass"), "both runs save the same"),
    (unstable("x = x[:2]"), "but only if `again`"),
    (unstable("x = x * (2 if again else 1)"), "compares shape, dtype and device, never values"),
    (unstable("if again: return x.exp()"), "a different number of tensors"),
    (unstable("x = x.nothing"), "the first run raised AttributeError"),
    (unstable("if again: x = x.nothing"), "the second run raised AttributeError"),
)

KEY = Key(
    recall={"q9.1": "False", "q9.4": "100", "q8.2": "True", "q8.4": "False", "q6.2": "False"},
    recall_wrong={
        "q9.1": (("True", "forward builds the graph"),),
        "q9.4": (("3", "enable_grad in forward brings back the real derivative"),),
        "q8.2": (("False", "a clone is cut off from the graph"),),
        "q8.4": (("True", "changing a result in place always raises an error"),),
        "q6.2": (("True", "retain_grad() switches it on"),),
    },
    predict={"10.1": "True", "10.2": "2", "10.3": "True", "10.4": "False"},
    predict_wrong={
        "10.1": (("False", "the first run is under no_grad"),),
        "10.2": (("3", "in backward the whole block runs again"), ("0", "so nothing runs again")),
        "10.3": (("False", "what the function's own result says"),),
        "10.4": (("True", "checkpoint remembers which mask the block drew"),),
    },
    why={"10.1": "c", "10.2": "b", "10.3": "a", "10.4": "c"},
    exercises={"faded": HOOKS, "open1": segments("round(n ** 0.5)"), "open2": unstable("if again: x = x[:2]")},
    exercises_wrong={"faded": HOOKS_WRONG, "open1": SEGMENTS_WRONG, "open2": UNSTABLE_WRONG},
)
