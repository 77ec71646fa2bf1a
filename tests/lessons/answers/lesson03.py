"""The key of lesson 3."""

from tests.lessons.answers.kinds import Key, Wrong

WALK = """def walk(node, grad):
    results = node(grad)
    if not isinstance(results, tuple):
        results = (results,)
    for (below, _), result in zip(node.next_functions, results):
        if below is None:
            continue
        walk(below, result)


check.walk(walk)"""


def rows(result: str) -> str:
    """The cell of the chosen integers; p, q and r are the rows."""
    return f"def build(m):\n    p, q, r = m.unbind()\n    return {result}\n\n\ncheck.integers(build, [2, 0, 1, 2])"


def diamonds(step: str, times: int) -> str:
    """The cell of the graph that drowns the walk."""
    return (f"def build_diamonds():\n    a = b = torch.tensor(1.0, requires_grad=True)\n    for _ in range({times}):\n"
            f"        a = {step}\n    return a\n\n\ncheck.diamond(build_diamonds)")


WALK_WRONG: tuple[Wrong, ...] = (
    (WALK.replace("below is None", "False"), "the walk reached None"),
    (WALK.replace("walk(below", "walk(node"), "the walk never ends"),
    (WALK.replace("walk(below, result)", "walk(below, grad)"), "every leaf got the gradient of the root"),
    (WALK.replace("walk(below, result)\n", "walk(below, result)\n        break\n"), "followed one edge only"),
    (WALK.replace("below is None", "not below.next_functions"), "none of the leaves received anything"),
    (WALK.replace("isinstance(results, tuple)", "isinstance(results, object)"), "returns a bare tensor"),
    (WALK.replace("walk(below, result)", "walk(_, result)"), "the walk called the integer"),
    (WALK.replace("node.next_functions, results)", "node.next_functions, results[::-1])"),
     "went to the wrong inputs"),
)
ROWS_WRONG: tuple[Wrong, ...] = (
    (rows("torch.stack([m[2], m[0], m[1], m[2]])"), "m[2] is an operation of its own"),
    (rows("torch.stack([p, q, r, r])"), "They say which output of unbind each input was"),
    (rows("torch.stack([r, q, p, r])"), "in the order of the inputs, first input first"),
    (rows("r * p"), "this node has 2 inputs"),
    (rows("torch.stack([m.unbind()[i] for i in (2, 0, 1, 2)])"), "unbind was called more than once"),
    (rows("torch.cat([m.split(1)[i] for i in (2, 0, 1, 2)])"), "input 0 comes from SplitBackward0, not from unbind"),
    (rows("torch.stack([row.clone() for row in (r, p, q, r)])"), "comes from CloneBackward0, not from unbind"),
    (rows("m.shape"), "build must return a tensor"),
)
DIAMOND_WRONG: tuple[Wrong, ...] = (
    (diamonds("a * 2", 15), "this is a tree"),
    (diamonds("a + a", 30), "20 are allowed"),
    (diamonds("a + b", 15), "the paths meet only at the leaf"),
    ("def build_diamonds():\n    a = torch.tensor(1.0, requires_grad=True)\n"
     "    return torch.stack([a] * 1100).sum()\n\n\ncheck.diamond(build_diamonds)", "the paths meet only at the leaf"),
    (diamonds("a + a", 3), "paths meet, but too few times"),
    ("def build_diamonds():\n    return torch.ones(2)\n\n\ncheck.diamond(build_diamonds)", "that has a grad_fn"),
)

KEY = Key(
    recall={"q1.3": '"None"', "q1.5": "False", "q2.2": "True", "q2.3": "2", "q2.5": "False"},
    recall_wrong={
        "q1.3": (('"AccumulateGrad"', "a leaf's grad_fn is the node that fills its .grad"),
                 ('"Tensor"', "every tensor that requires grad has a grad_fn")),
        "q1.5": (("True", "detach makes a copy that is like y in every way"),),
        "q2.2": (("False", "on a result, requires_grad_() does nothing"),),
        "q2.3": (("4", "whatever is computed from w requires grad"), ("1", "what is copied from w does not")),
        "q2.5": (("True", "y looks up the flag of x when you read it"),),
    },
    predict={"3.1": "2", "3.2": "1", "3.3": "[1, 2]", "3.4": '"AccumulateGrad"', "3.5": "True", "3.6": "True"},
    predict_wrong={
        "3.1": (("1", "one pair for each input that requires grad"), ("0", "next_functions points forward")),
        "3.2": (("2", "each input has a node of its own"), ("0", "x is a leaf and has no node")),
        "3.3": (("[0, 0]", "the integer is always 0"), ("[0, 1]", "the integer counts the inputs")),
        "3.4": (('"None"', "the walk ends with None"), ('"Tensor"', "the walk ends at the tensor itself"),
                ('"MulBackward0"', "the first operation that ran")),
        "3.5": (("False", "calling a node runs backward from there"),),
        "3.6": (("False", "a gradient is just numbers"),),
    },
    why={"3.1": "c", "3.2": "a", "3.3": "b", "3.4": "c", "3.5": "a", "3.6": "b"},
    exercises={"faded": WALK, "open1": rows("torch.stack([r, p, q, r])"), "open2": diamonds("a + a", 10)},
    exercises_wrong={"faded": WALK_WRONG, "open1": ROWS_WRONG, "open2": DIAMOND_WRONG},
)
