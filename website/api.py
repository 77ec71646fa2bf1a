"""The pages of the API: one for each public module, from its docstrings."""

from pathlib import Path

GROUPS = {
    "minigrad": ("minigrad", "minigrad.autograd", "minigrad.autograd.function", "minigrad.core.graph",
                 "minigrad.autograd.functional", "minigrad.autograd.anomaly_mode", "minigrad.linalg",
                 "minigrad.special", "minigrad.random"),
    "minigrad.nn": ("minigrad.nn", "minigrad.nn.Module", "minigrad.nn.functional", "minigrad.nn.init",
                    "minigrad.nn.utils"),
    "minigrad.optim": ("minigrad.optim", "minigrad.optim.lr_scheduler", "minigrad.optim.swa_utils"),
    "minigrad.utils": ("minigrad.utils.checkpoint", "minigrad.utils.data", "minigrad.memory", "minigrad.serialization"),
    "recordings and inspectors": ("minigrad.recorder", "minigrad_widgets", "minigrad_widgets.torch_reader"),
    "lessons": ("minigrad_lessons",),
}

# What is on the page of minigrad already.
LEFT_OUT = {"minigrad.random": "Generator", "minigrad.nn": "Module",
            "minigrad.autograd": "enable_grad, inference_mode, no_grad, set_grad_enabled"}
CLASSES = ("minigrad.nn.Module",)  # with what they inherit: on the page of a module that would be repeated by all


def write_pages(target: Path) -> None:
    """One page for each module, and one that lists them."""
    target.mkdir(parents=True)
    listed = ["# API", "", "Every public name, from its docstring. The ops, with their derivatives, are listed in "
              "[the ops](../ops.md).", ""]
    for group, modules in GROUPS.items():
        listed += [f"## {group}", "", "```{toctree}", ":maxdepth: 1", *modules, "```", ""]
        for module in modules:
            left_out = f"   :exclude-members: {LEFT_OUT[module]}\n" if module in LEFT_OUT else ""
            members = f".. automodule:: {module}\n   :imported-members:\n{left_out}"
            if module in CLASSES:
                members = f".. autoclass:: {module}\n   :inherited-members:\n"
            page = f"# {module}\n\n```{{eval-rst}}\n{members}```\n"
            (target / f"{module}.md").write_text(page, encoding="utf-8")
    (target / "index.md").write_text("\n".join(listed), encoding="utf-8")
