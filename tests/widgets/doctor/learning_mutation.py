"""The second set of faults of learning: mutations of the text of training loops that learn.

A mutation is a rule, what to look for in a program's text, and what takes its place; a mark stands at the line of the
fault. They were drawn up before the doctor saw any of the mutants. A mutant that learns as well as its original is no
fault: `EQUIVALENT` lists these, and a test runs them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from tests.widgets.doctor.corpus import learning_bases
from tests.widgets.doctor.corpus_runs import Planted, planted_in
from tests.widgets.doctor.mutation import changed, compiled

__all__ = ["BASES", "MUTANTS", "NO_FAULTS"]

BASES = planted_in(learning_bases)
EACH = 3
ZERO = r"^ +\w+\.zero_grad\([^)]*\)\n"
BACKWARD = r"^( +)loss\.backward\(\)\n"
STEP = r"^( +)optimizer\.step\(\)\n"
LOSS = r"^( +)loss = (.*)\n"
MADE = r"^( +)optimizer = (torch\.optim\.\w+)\((.*)\)\n"
# name: the rule, a pattern, and what takes the place of its first match
MUTATIONS = {
    # the loop
    "no zero_grad": ("grad-accumulates", rf"{ZERO}((?:.*\n)*?.*backward\(\))", r"\1  # <-"),
    "no step": ("nothing-moves", r"(backward\(\))(\n(?:.*\n)*?) +optimizer\.step\(\)\n", r"\1  # <-\2"),
    "step not called": ("nothing-moves", STEP, "\\1optimizer.step  # <-\n"),
    "step before backward": ("wrong-order", rf"{BACKWARD}((?:.*\n)*?) +optimizer\.step\(\)\n",
                             "\\1optimizer.step()  # <-\n\\1loss.backward()\n\\2"),
    "gradients zeroed before step": ("wrong-order", STEP, "\\1optimizer.zero_grad()  # <-\n\\g<0>"),
    "gradients multiplied by 0": ("nothing-moves", STEP, "\\1for group in optimizer.param_groups:\n\\1    for p in "
                                  "group['params']:\n\\1        p.grad *= 0  # <-\n\\g<0>"),
    "gradients clipped to 0": ("nothing-moves", r"(clip_grad_norm_\(.*), 1\.0\)", r"\1, 0.0)  # <-"),
    "clipping after step": ("wrong-order", r"^( +)(.*clip_grad_norm_.*)\n( +optimizer\.step\(\)\n)", r"\3\1\2  # <-"
                            "\n"),
    "no unscale": ("wrong-order", r" +scaler\.unscale_.*\n(.*clip_grad_norm_.*)", r"\1  # <-"),
    "scaler passed over": ("wrong-order", r" +scaler\.unscale_.*\n.*clip_grad_norm_.*\n +scaler\.step\(optimizer\)",
                           "        optimizer.step()  # <-"),
    # the optimizer
    "rate 0": ("nothing-moves", r"(, lr=)[\d.]+(.*)", r"\g<1>0.0\2  # <-"),
    "rate 0 of one group": ("nothing-moves", r'"lr": [\d.]+(.*)', r'"lr": 0.0\1  # <-'),
    "rate 1e4": ("learning-rate", r"(, lr=)[\d.]+(.*)", r"\g<1>1e4\2  # <-"),
    "rate 1e-12": ("learning-rate", r"(, lr=)[\d.]+(.*)", r"\g<1>1e-12\2  # <-"),
    "maximize": ("loss-rises", MADE, "\\1optimizer = \\2(\\3, maximize=True)  # <-\n"),
    "weight decay of 10": ("learning-rate", r"^( +)optimizer = (torch\.optim\.\w+)\(([^\n]*?)(, weight_decay=[\d.]+)?"
                           r"\)\n", "\\1optimizer = \\2(\\3, weight_decay=10)  # <-\n"),
    "head forgotten": ("not-in-optimizer", r"^( +optimizer = .*)model\.parameters\(\)(.*)\n",
                       "\\1list(model.parameters())[:2]\\2  # <-\n"),
    "model made anew": ("stale-in-optimizer", r"^( +)(optimizer = .*)\n((?:.*\n)*?)( +def step)",
                        "\\1\\2  # <-\n\\3\\1for module in model.modules():\n\\1    for name, p in "
                        "list(module.named_parameters(recurse=False)):\n\\1        setattr(module, name, "
                        "torch.nn.Parameter(p.detach().clone()))\n\\4"),
    "optimizer of the teacher": ("nothing-moves", r"(optimizer = .*)student\.parameters\(\)(.*)",
                                 r"\1teacher.parameters()\2  # <-"),
    # the loss
    "loss times 0": ("zero-gradient", BACKWARD, "\\1loss = loss * 0  # <-\n\\g<0>"),
    "loss turned round": ("loss-rises", BACKWARD, "\\1loss = -loss  # <-\n\\g<0>"),
    "loss made a leaf": ("leaf-loss", BACKWARD, "\\1loss = loss.detach().requires_grad_()  # <-\n\\g<0>"),
    "loss made anew": ("leaf-loss", BACKWARD, "\\1loss = torch.tensor(loss.item(), requires_grad=True)  # <-\n\\g<0>"),
    "loss detached": ("no-graph-loss", BACKWARD, "\\1loss = loss.detach()  # <-\n\\g<0>"),
    "softmax before cross_entropy": ("softmax-before-cross-entropy", r"(cross_entropy\(|CrossEntropyLoss\(\)(?:.*\n)*?"
                                     r".*criterion\()(scores|outputs|model\(x\))(, y\))\n",
                                     "\\1\\2.softmax(1)\\3  # <-\n"),
    "sigmoid before the loss": ("sigmoid-before-bce-with-logits", r"(BCEWithLogitsLoss(?:.*\n)*.*loss = criterion\()"
                                r"scores(.*)", r"\1torch.sigmoid(scores)\2  # <-"),
    "nll_loss of scores": ("loss-contract", r"F\.log_softmax\((.*), dim=1\)\n(.*loss = .*)", "\\1\n\\2  # <-"),
    "nll_loss of probabilities": ("loss-contract", r"F\.log_softmax\((.*), dim=1\)\n(.*loss = .*)",
                                  "F.softmax(\\1, dim=1)\n\\2  # <-"),
    "softmax over the batch": ("loss-contract", r"F\.log_softmax\((.*), dim=1\)\n(.*loss = .*)",
                               "F.log_softmax(\\1, dim=0)\n\\2  # <-"),
    "labels not shifted": ("loss-contract", r"model\(text\[:, :-1\]\)\n(.*)text\[:, 1:\]\.flatten\(\)\)\n",
                           "model(text)\n\\1text.flatten())  # <-\n"),
    "targets without their last dimension": ("broadcast-loss", r"(loss = .*\((?:prediction|value), )(y|target)\)\n",
                                             "\\1\\2.squeeze(1))  # <-\n"),
    "predictions without their last dimension": ("broadcast-loss", r"(loss = .*\()(prediction|value)(, .*)\n",
                                                 "\\1\\2.squeeze(1)\\3  # <-\n"),
    "predictions rounded": ("zero-gradient", r"( +)(prediction|value) = (.*)\n", "\\1\\2 = \\3.round()  # <-\n"),
    "scores clamped": ("zero-gradient", r"( +)(scores|outputs) = (.*)\n", "\\1\\2 = \\3.clamp(5.0, 6.0)  # <-\n"),
    "relu on the scores": ("zero-gradient", r"( +)(scores|outputs) = (.*)\n", "\\1\\2 = torch.relu(\\3)  # <-\n"),
    "target not detached": ("not-detached", r"(target = .*)\.detach\(\)", r"\1  # <-"),
    # the model
    "part frozen in the step": ("frozen-by-mistake", r"^( +)loss\.backward\(\)\n",
                                "\\g<0>\\1for p in list(model.parameters())[:-1]:\n"
                                "\\1    p.requires_grad_(False)  # <-\n"),
    "layer under no_grad": ("cut-graph", r"^( +)(h|x|h, _) = (.*self\..*)\n",
                            "\\1with torch.no_grad():  # <-\n\\1    \\2 = \\3\n"),
    "layer detached": ("cut-graph", r"^( +)(h|x) = (.*self\..*)\n", "\\1\\2 = \\3.detach()  # <-\n"),
    "layer's data": ("cut-graph", r"^( +)(h|x) = (.*self\..*)\n", "\\1\\2 = (\\3).data  # <-\n"),
    "layer made anew": ("cut-graph", r"^( +)(h|x) = (.*self\..*)\n", "\\1\\2 = torch.tensor((\\3).tolist())  # <-\n"),
    "scores detached": ("cut-graph", r"return self\.(\w+)\(([^)\n]*)\)\n", "return self.\\1(\\2.detach())  # <-\n"),
    "weights all equal": ("symmetric-weights", r"^( +)optimizer = ", "\\1for p in model.parameters():\n"
                          "\\1    torch.nn.init.constant_(p, 0.1)  # <-\n\\g<0>"),
    "parameter a plain tensor": ("not-in-optimizer", r"nn\.Parameter\(torch\.zeros\(3\)\)",
                                 "torch.zeros(3, requires_grad=True)  # <-"),
    "eval in place of train": ("mode-mismatch", r"model\.train\(\)\n((?:.*\n)*?)(.*= model\(x\))",
                               "model.eval()\n\\1\\2  # <-"),
    # the data
    "inputs of 0 to 255": ("input-scale", r"^( +)(def step\(\):\n)((?:.*\n)*?)(.*\w+\(x\).*)",
                           "\\1x = 255 * (x - x.min())  # <-\n\n\\1\\2\\3\\4  # <-"),
}
# What fits there and is no fault: the program learns as well as before.
EQUIVALENT = ("eval in place of train in classifier",)  # it has no layer to which the mode matters


def mutants() -> Iterator[Planted]:
    """The programs with a fault, named by their mutation and their original: each mutation in up to `EACH` of them."""
    for turn, (name, (rule, pattern, replacement)) in enumerate(MUTATIONS.items()):
        fits = []
        for base in BASES:
            text = inspect.getsource(base.program)
            match = re.search(pattern, text, re.MULTILINE)
            if match is not None and ("model." not in replacement or "model = " in text):
                fits.append((base, changed(text, match, replacement)))
        for i in range(min(EACH, len(fits))):
            base, text = fits[(turn + i) % len(fits)]  # others for each mutation
            yield compiled(f"{name} in {base.name}", rule, text, vars(inspect.getmodule(base.program)))


ALL = list(mutants())
MUTANTS = [each for each in ALL if not each.name.endswith(EQUIVALENT)]
NO_FAULTS = [each for each in ALL if each.name.endswith(EQUIVALENT)]
