"""The key of lesson 20."""

from tests.lessons.answers.kinds import Key, Wrong


def gradient_norms(kept: str, after: str, condition: str = "if name") -> str:
    """The cell of the norms by name."""
    return ("def gradient_norms(model, x):\n    norms = {}\n    def keeper(name):\n"
            "        def hook(module, grad_output):\n"
            f"            norms[name] = {kept}\n        return hook\n"
            "    handles = [module.register_full_backward_pre_hook(keeper(name))\n"
            f"               for name, module in model.named_modules() {condition}]\n"
            "    model(x).sum().backward()\n    for handle in handles:\n"
            f"        {after}\n    return norms\n\n\ncheck.gradient_norms(gradient_norms)")


def where_it_dies(test: str, returned: str, remove: str = "handle.remove()") -> str:
    """The cell that finds where a gradient dies."""
    return ("def where_it_dies(model, x):\n    found = []\n    def watcher(name):\n"
            "        def hook(module, grad_input, grad_output):\n"
            f"            if {test}:\n                found.append(name)\n        return hook\n"
            "    handles = [module.register_full_backward_hook(watcher(name))\n"
            "               for name, module in model.named_modules() if name]\n"
            "    model(x).sum().backward()\n    for handle in handles:\n"
            f"        {remove}\n    return {returned}\n\n\ncheck.where_it_dies(where_it_dies)")


def patched(*lines: str) -> str:
    """The cell that replaces an output."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"def patched(model, x, name, value):\n{body}\n\ncheck.patched(patched)"


NORM, REMOVE = "grad_output[0].norm().item()", "handle.remove()"
ARRIVES, PASSES = "(grad_output[0] != 0).any()", "(grad_input[0] == 0).all()"
DIES, FIRST = f"{ARRIVES} and {PASSES}", "found[0] if found else None"
HANDLE = "handle = model.get_submodule(name).register_forward_hook(lambda module, args, output: value)"
NORMS_WRONG: tuple[Wrong, ...] = (
    (gradient_norms("grad_output.norm().item()", REMOVE), "has no attribute 'norm'"),
    (gradient_norms("grad_output[0].norm()", REMOVE), "it should be a number, by .item()"),
    (gradient_norms("grad_output[0].sum().item()", REMOVE), "the norm of the gradient of its output is"),
    (gradient_norms(NORM, "pass"), "a hook is still there"),
    (gradient_norms(NORM, REMOVE, ""), "they should be"),
    (gradient_norms(NORM, REMOVE + "\n    norms = None"), "it returned None"),
)
DIES_WRONG: tuple[Wrong, ...] = (
    (where_it_dies(ARRIVES, FIRST), "'4'; it should be '3'"),
    (where_it_dies(PASSES, "found[-1] if found else None"), "That module only gets zeros"),
    (where_it_dies(DIES, "found[-1] if found else None"), "the hook of the innermost part is called first"),
    (where_it_dies(DIES, "found[0]"), "list index out of range"),
    (where_it_dies(DIES, FIRST, "pass"), "a hook is still there"),
    (where_it_dies("(grad_output[0] == 0).all()", FIRST), "That module only gets zeros"),
)
PATCHED_WRONG: tuple[Wrong, ...] = (
    (patched(HANDLE, "return model(x)"), "a hook is still there"),
    (patched(HANDLE, "result = model(x)", REMOVE, "return result"), "Remove it in finally"),
    (patched("return model(x)"), "the result without a replacement"),
    (patched(HANDLE.replace("output: value", "output: None"), "try:", "    return model(x)", "finally:",
             f"    {REMOVE}"), "the result without a replacement"),
    (patched(HANDLE, "try:", "    return model(x)", "except RuntimeError:", "    return value", "finally:",
             f"    {REMOVE}"), "hid it"),
    (patched(HANDLE, "model(x)", REMOVE), "it returned None"),
    (patched("model.get_submodule(name).forward = lambda x: value", "return model(x)"), "no longer what it was"),
)

KEY = Key(
    recall={"q11.1": "0", "q11.2": "0", "q11.5": "1", "q9.1": "False", "q9.5": "False"},
    recall_wrong={
        "q11.1": (("2", "a list of layers is registered"),),
        "q11.2": (("1", "the optimizer knows my loss"),),
        "q11.5": (("0.95", "weight decay shrinks every parameter"),),
        "q9.1": (("True", "forward builds the graph"),),
        "q9.5": (("True", "is watched like a saved tensor"),),
    },
    predict={"20.1": "4", "20.2": "1", "20.3": "8", "20.4": "False", "20.5": "True"},
    predict_wrong={
        "20.1": (("3", "its own hook is not called"), ("1", "one call of the model")),
        "20.2": (("2", "a hook sees all arguments"), ("0", "only if it asks for them")),
        "20.3": (("3", "hooks only look"), ("5", "what the module was called with"), ("6", "what forward returned")),
        "20.4": (("True", "the gradient of its own layer"),),
        "20.5": (("False", "a hook cannot cut the graph"),),
    },
    why={"20.1": "b", "20.2": "c", "20.3": "a", "20.4": "a", "20.5": "b"},
    exercises={"faded": gradient_norms(NORM, REMOVE), "open1": where_it_dies(DIES, FIRST),
               "open2": patched(HANDLE, "try:", "    return model(x)", "finally:", f"    {REMOVE}")},
    exercises_wrong={"faded": NORMS_WRONG, "open1": DIES_WRONG, "open2": PATCHED_WRONG},
)
