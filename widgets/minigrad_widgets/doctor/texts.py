"""The errors and warnings that autograd, checkpoint, Function, hooks and the rules for changes in place can raise.

One table for both libraries, whose texts are the same. An entry says by which words a text is known, the rule's slug,
what it means in plain words, what to do, and which part of which lesson teaches it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from minigrad_widgets.doctor.findings import Mend

__all__ = ["TEXTS", "Text", "text_for"]

MODES, FUNCTION, HOOKS = (7, "Grad modes"), (9, "Your own Function"), (6, "Hooks")
ENGINE, LEAVES, INPLACE = (4, "The engine"), (1, "Leaves"), (8, "Changes in place and versions")
CHECKPOINT, HIGHER, STATES = (10, "Activation checkpointing"), (12, "Higher order"), (2, "The states of a tensor")


class Text(NamedTuple):
    """What is known of one error or warning; `words` is a regular expression that is searched for in its text."""

    words: str
    rule: str
    what: str
    mends: tuple[tuple[str, str], ...]
    lesson: tuple[int, str]
    role: str = "raised here"


TEXTS = [
    # what the recording says most about: errors.py adds the places
    Text(r"modified by an inplace operation: \[.*is at version|has been modified by an inplace operation",
         "inplace-on-saved", "A tensor that a derivative needs was changed after it had been saved.",
         (("Make a new tensor instead of changing this one.", "h = h + shift   # not h += shift"),
          ("If both are needed, change a copy.", "h = h.clone()")), INPLACE, "changed here"),
    Text(r"backward through the graph a second time|Saved intermediate values of the graph are freed",
         "second-backward", "A backward pass came to a part of the graph whose saved tensors an earlier pass has "
         "freed.", (("Compute that part anew for each pass, or detach what comes from the step before.",
                     "state = state.detach()"),
                    ("If two passes are meant to go through it, keep the graph in the first one.",
                     "loss.backward(retain_graph=True)")), ENGINE, "used again here"),
    Text(r"element \d+ of tensors does not require grad", "no-graph-loss",
         "backward was called on a tensor that has no graph: nothing that requires grad is behind it.",
         (("Compute the loss from the parameters by recorded ops.", "loss = loss_fn(model(x), y)"),), STATES),
    Text(r"a leaf Variable that requires grad is being used in an in-place", "inplace-on-leaf",
         "A leaf that requires grad was changed in place while gradients are recorded.",
         (("Change it where nothing is recorded.", "with torch.no_grad():\n    w -= lr * w.grad"),
          ("Or let an optimizer do it.", "optimizer.step()")), INPLACE, "changed here"),
    # changes in place
    Text(r"a view of a leaf Variable that requires grad is being used in an in-place", "inplace-on-leaf",
         "A part of a leaf that requires grad was changed in place while gradients are recorded.",
         (("Change it where nothing is recorded.", "with torch.no_grad():\n    w[0] = 0.0"),), INPLACE, "changed here"),
    Text(r"leaf variable has been moved into the graph interior", "inplace-on-leaf",
         "A leaf became the result of an op in place, so it is no leaf any more.",
         (("Change it where nothing is recorded.", "with torch.no_grad():\n    w.mul_(0.9)"),), INPLACE),
    Text(r"is a view and (is )?being modified inplace\. This view is the output of a function that returns multiple",
         "inplace-on-view", "One of several views that an op gave together was changed in place.",
         (("Make a new tensor, or take the views one by one.", "rows = [row.clone() for row in x.unbind()]"),),
         INPLACE, "changed here"),
    Text(r"view was created in the no_grad mode|view was created inside a custom Function|"
         r"view was created in no_grad mode|is a view and is being modified inplace|"
         r"A view was created in (no_grad|inference) mode", "inplace-on-view",
         "A view that has no way to tell its base of a change was changed in place.",
         (("Make the view where gradients are on, or change a copy.", "part = base[0].clone()"),), INPLACE,
         "changed here"),
    Text(r"Inplace update to inference tensor outside InferenceMode", "inference-tensor",
         "A tensor made in inference mode was changed in place outside of it.",
         (("Make a copy that is an ordinary tensor.", "x = x.clone()"),), MODES, "changed here"),
    Text(r"Inference tensors cannot be saved for backward", "inference-tensor",
         "An op wanted to save a tensor made in inference mode for its derivative.",
         (("Make it under no_grad, or copy it.", "x = x.clone()"),), MODES, "used here"),
    Text(r"Inference tensors do not track version counter", "inference-tensor",
         "A tensor made in inference mode counts no versions.",
         (("Make it under no_grad instead.", "with torch.no_grad():\n    x = model(batch)"),), MODES),
    Text(r"Setting requires_grad=True on inference tensor", "inference-tensor",
         "A tensor made in inference mode cannot be asked to require grad.",
         (("Copy it first.", "x = x.clone().requires_grad_()"),), MODES),
    Text(r"Can't detach views in-place", "detach-view", "detach_() was called on a view, whose base keeps its graph.",
         (("Use detach(), which gives another tensor.", "x = view.detach()"),), INPLACE),
    Text(r"expanded (size|tensor)|single memory location", "inplace-on-expanded",
         "A tensor several of whose elements are one number in memory was changed in place.",
         (("Copy it first.", "x = x.clone()"),), INPLACE, "changed here"),
    # leaves and requires_grad
    Text(r"you can only change requires_grad flags of leaf variables", "not-a-leaf",
         "requires_grad was set on the result of an op.",
         (("To go on without its graph, detach it.", "h = h.detach()"),
          ("To have its gradient, retain it.", "h.retain_grad()")), LEAVES),
    Text(r"[Oo]nly Tensors of floating point (and complex )?dtype can require gradients", "integer-requires-grad",
         "Gradients were asked for of integers or bools, which have none.",
         (("Give it a floating dtype.", "x = torch.tensor([1.0, 2.0], requires_grad=True)"),), LEAVES),
    Text(r"can't optimize a non-leaf Tensor", "not-a-leaf", "The optimizer was given the result of an op.",
         (("Ask for gradients last.", "w = (torch.randn(3) * 0.1).requires_grad_()"),), LEAVES),
    Text(r"is not a leaf Tensor is being accessed", "not-a-leaf",
         "The .grad of a result of an op was read: it is None, since gradients stay in leaves only.",
         (("Have it keep its gradient, before backward.", "h.retain_grad()"),), LEAVES, "read here"),
    Text(r"can't retain_grad on Tensor that has requires_grad=False", "no-requires-grad",
         "A tensor that requires no grad has no gradient to keep.",
         (("Have it require grad, or one that it is computed from.", "x.requires_grad_()"),), HOOKS),
    Text(r"cannot register a hook on a tensor that doesn't require gradient", "no-requires-grad",
         "A hook was put on a tensor through which no gradient will come.",
         (("Have it require grad, or one that it is computed from.", "x.requires_grad_()"),), HOOKS),
    Text(r"post accumulate grad hooks cannot be registered on non-leaf", "hook-on-result",
         "A hook that runs after accumulation was put on the result of an op, which accumulates nothing.",
         (("Use an ordinary hook there.", "h.register_hook(print)"),), HOOKS),
    Text(r"Can't call numpy\(\) on Tensor that requires grad", "numpy-with-grad",
         "NumPy knows no graph: a tensor that requires grad is not handed to it silently.",
         (("Say that the graph ends here.", "values = x.detach().numpy()"),), STATES),
    Text(r"Only Tensors created explicitly by the user.*support the deepcopy", "deepcopy-of-result",
         "The result of an op was deep-copied, and a graph is never copied.",
         (("Detach it first.", "copy.deepcopy(h.detach())"),), STATES),
    Text(r"Converting a tensor with requires_grad=True to a scalar", "cut-graph",
         "A number was taken out of a tensor with a graph: what is computed with the number has none.",
         (("Detach where the number is only to be printed.", "print(loss.detach().item())"),), STATES, "cut here"),
    Text(r"assigned grad|attempting to assign a gradient", "wrong-grad",
         "A .grad was set to something that does not fit its tensor.",
         (("Give it a tensor of the same shape, dtype and device, or None.", "w.grad = torch.zeros_like(w)"),),
         (5, "Accumulation and zeroing")),
    # backward and grad
    Text(r"grad can be implicitly created only for scalar outputs", "not-a-scalar",
         "backward was called on more than one number without saying by what to weigh them.",
         (("Reduce it to one number.", "loss.mean().backward()"),
          ("Or give the weights.", "y.backward(torch.ones_like(y))")), ENGINE),
    Text(r"Mismatch in shape: grad_output\[\d+\] has a shape", "gradient-shape",
         "The gradient that backward was given has another shape than the tensor.",
         (("Give it the shape of the tensor.", "y.backward(torch.ones_like(y))"),), ENGINE),
    Text(r"got \d+ tensors and \d+ gradients", "gradient-count",
         "backward was given another number of gradients than of tensors.",
         (("Give one gradient for each tensor.", "torch.autograd.backward([a, b], [ga, gb])"),), ENGINE),
    Text(r"gradients can be either Tensors or None", "gradient-type", "A gradient that was given is no tensor.",
         (("Wrap it.", "y.backward(torch.tensor(1.0))"),), ENGINE),
    Text(r"`inputs` argument to `\w+\(\)` cannot be empty|inputs argument to \w+\(\) cannot be empty", "no-inputs",
         "The list of inputs is empty.",
         (("Name at least one tensor, or leave `inputs` out.", "loss.backward(inputs=[w])"),), ENGINE),
    Text(r"One of the differentiated Tensors does not require grad", "no-requires-grad",
         "A gradient was asked for with respect to a tensor that requires none.",
         (("Have it require grad before the forward pass.", "x.requires_grad_()"),), STATES),
    Text(r"appears to not have been used in the graph", "unused-input",
         "A gradient was asked for with respect to a tensor that is not in the graph of the output.",
         (("Use it on the way to the output.", "y = f(x)"),
          ("If None is a fine answer, say so.", "torch.autograd.grad(y, x, allow_unused=True)")), HIGHER),
    Text(r"Expected allow_unused to be True or not passed when materialize_grads=True", "grad-arguments",
         "materialize_grads and allow_unused=False contradict each other.",
         (("Leave allow_unused out.", "torch.autograd.grad(y, x, materialize_grads=True)"),), HIGHER),
    Text(r"only_inputs argument is deprecated", "grad-arguments", "only_inputs does nothing any more.",
         (("Leave it out.", "torch.autograd.grad(y, x)"),), HIGHER),
    Text(r"`grad_variables` is deprecated|'grad_variables' is deprecated", "grad-arguments",
         "grad_variables has another name now.", (("Say grad_tensors.", "backward([y], grad_tensors=[g])"),), ENGINE),
    Text(r"`grad_tensors` and `grad_variables`|'grad_tensors' and 'grad_variables'", "grad-arguments",
         "Gradients were given twice, under the old name and the new one.",
         (("Say grad_tensors.", "backward([y], grad_tensors=[g])"),), ENGINE),
    Text(r"backward\(\) with create_graph=True will create a reference cycle", "kept-graph",
         "backward(create_graph=True) leaves gradients with graphs in .grad, which keep the memory of the whole pass.",
         (("Use autograd.grad for a higher derivative.",
           "(g,) = torch.autograd.grad(loss, [w], create_graph=True)"),), HIGHER),
    # Function
    Text(r"returned an incorrect number of gradients", "function-gradients",
         "backward of a Function gave another number of gradients than forward has inputs.",
         (("Give one for each input of forward, None for what has none.", "return grad_x, None"),), FUNCTION),
    Text(r"returned a gradient different than None at position", "function-gradients",
         "backward of a Function gave a gradient for an input that is no tensor.",
         (("Give None there.", "return grad_x, None"),), FUNCTION),
    Text(r"returned an invalid gradient at index \d+ - got", "function-gradient-shape",
         "backward of a Function gave a gradient of another shape than the input has.",
         (("Sum over what was broadcast.", "return grad.sum(0)"),), FUNCTION),
    Text(r"expected Variable or None \(got", "function-gradients", "backward of a Function gave what is no tensor.",
         (("Give tensors, or None.", "return grad * 2"),), FUNCTION),
    Text(r"You must implement the forward function for custom autograd\.Function", "function-incomplete",
         "The Function has no forward.", (("Write it.", "@staticmethod\ndef forward(ctx, x):\n    return x * 2"),),
         FUNCTION),
    Text(r"You must implement either the backward or vjp method", "function-incomplete",
         "The Function has no backward.",
         (("Write it.", "@staticmethod\ndef backward(ctx, grad):\n    return grad * 2"),), FUNCTION),
    Text(r"Implementing both 'backward' and 'vjp'", "function-incomplete",
         "The Function has both backward and vjp, which are two names for one thing.",
         (("Keep one of them.", "@staticmethod\ndef backward(ctx, grad): ..."),), FUNCTION),
    Text(r"save_for_backward can only save variables", "function-saves",
         "save_for_backward was given what is no tensor.",
         (("Put numbers on ctx.", "ctx.scale = scale\nctx.save_for_backward(x)"),), FUNCTION),
    Text(r"Legacy autograd function with non-static forward", "function-legacy",
         "The Function was called as an object, not by apply.", (("Call apply.", "y = MyFunction.apply(x)"),),
         FUNCTION),
    Text(r"should not be instantiated", "function-legacy", "An object of a Function was made; its methods are static.",
         (("Call apply on the class.", "y = MyFunction.apply(x)"),), FUNCTION),
    Text(r"a leaf Variable that requires grad has been used in an in-place operation", "function-dirty",
         "forward of a Function changes a leaf that requires grad in place.",
         (("Give it the result of an op.", "y = MyFunction.apply(x.clone())"),), FUNCTION),
    Text(r"mark_dirty|marked as dirty", "function-dirty",
         "mark_dirty was told of something that forward did not change and return.",
         (("Name the inputs that forward changes, and return them.", "ctx.mark_dirty(x)\nreturn x"),), FUNCTION),
    Text(r"differentiate twice a function that was marked with @once_differentiable", "once-differentiable",
         "A second derivative was asked of a Function that says it has one only.",
         (("Write its backward with recorded ops, and leave the decorator out.",
           "@staticmethod\ndef backward(ctx, grad): ..."),), FUNCTION),
    Text(r"'saved_variables' is deprecated", "function-saves", "saved_variables has another name now.",
         (("Say saved_tensors.", "(x,) = ctx.saved_tensors"),), FUNCTION),
    Text(r"save_for_forward expects all arguments to be tensors", "function-saves",
         "save_for_forward was given what is no tensor.", (("Put numbers on ctx.", "ctx.scale = scale"),), FUNCTION),
    # hooks
    Text(r"hook '.*' has changed the (size|type|backend) of value", "hook-changes-gradient",
         "A hook gave back a gradient of another shape or dtype.",
         (("Give back a gradient like the one that came.", "lambda grad: grad * 0.5"),), HOOKS),
    Text(r"expected Variable, but hook returned", "hook-returns",
         "A hook gave back something that is neither None nor a gradient.",
         (("Give back None or a tensor.", "def hook(grad):\n    return grad * 0.5"),), HOOKS),
    Text(r"unpack_hook expected to be a Tensor", "saved-hooks", "An unpack hook gave back what is no tensor.",
         (("Undo in unpack what pack did.",
           "with saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy): ..."),), HOOKS),
    Text(r"A saved tensor pack hook is modifying its input in place", "saved-hooks",
         "A pack hook changed the tensor that is being saved.", (("Work on a copy.", "lambda t: t.clone().mul_(2)"),),
         HOOKS),
    # checkpoint
    Text(r"None of the inputs have requires_grad=True", "checkpoint-without-grad",
         "None of the inputs of a reentrant checkpoint requires grad, so nothing inside of it gets a gradient.",
         (("Use the checkpoint that does not need it.", "checkpoint(block, x, use_reentrant=False)"),), CHECKPOINT,
         "checkpointed here"),
    Text(r"use_reentrant parameter should be passed explicitly", "checkpoint-use-reentrant",
         "checkpoint wants to be told which of its two kinds is meant.",
         (("Say the newer one.", "checkpoint(block, x, use_reentrant=False)"),), CHECKPOINT, "checkpointed here"),
    Text(r"torch\.utils\.checkpoint: (Recomputed values|A different number|trying to save more)|"
         r"Recomputed values for the following tensors have different metadata", "checkpoint-changed",
         "The checkpointed function did something else when it ran again.",
         (("Have it depend on its arguments alone, and on the random state that checkpoint brings back.",
           "checkpoint(block, x, use_reentrant=False, preserve_rng_state=True)"),), CHECKPOINT, "checkpointed here"),
    Text(r"When use_reentrant=True, torch\.utils\.checkpoint is incompatible with \.grad\(\)|"
         r"incompatible with \.grad\(\) or passing an `inputs`", "checkpoint-with-grad",
         "A reentrant checkpoint cannot be used with autograd.grad, or with the inputs of backward.",
         (("Use the other kind.", "checkpoint(block, x, use_reentrant=False)"),), CHECKPOINT),
    Text(r"none of output has requires_grad=True, this checkpoint\(\) is not necessary", "checkpoint-without-grad",
         "Nothing that the checkpointed function gave requires grad.",
         (("Call it without checkpoint.", "h = block(x)"),), CHECKPOINT),
    Text(r"Unexpected keyword arguments: ", "checkpoint-arguments",
         "A reentrant checkpoint hands on no keyword arguments.",
         (("Use the other kind, which does.", "checkpoint(block, x, use_reentrant=False, mask=mask)"),), CHECKPOINT),
    # modes and anomaly
    Text(r"Function '?\w+'? returned nan values in its \d+th output", "nan-backward",
         "A derivative gave NaN; anomaly mode has stopped there.",
         (("Keep its inputs away from where the slope is infinite.", "torch.sqrt(x + 1e-12)"),), MODES),
    Text(r"Anomaly Detection has been enabled", "anomaly-mode", "Anomaly mode is on, which makes every op slower.",
         (("Switch it off when the fault is found.", "torch.autograd.set_detect_anomaly(False)"),), MODES),
    # losses
    Text(r"Using a target size .* that is different to the input size", "broadcast-loss",
         "The loss's input and target have other shapes, and broadcast.",
         (("Give both the same shape.", "loss = F.mse_loss(model(x).squeeze(1), y)"),), (11, "Losses")),
    Text(r"Detected call of `lr_scheduler\.step\(\)` before `optimizer\.step\(\)`", "wrong-order",
         "The schedule stepped before the optimizer.",
         (("Step the schedule after the optimizer.", "optimizer.step()\nscheduler.step()"),), (11, "Optimizers")),
    Text(r"Expected all tensors to be on the same device|is not on the expected device", "other-device",
         "Tensors of two devices met in one op.", (("Bring both to one device.", "x = x.to(model.weight.device)"),),
         (11, "Modules and parameters")),
    Text(r"To copy construct from a tensor, it is recommended to use", "cut-graph",
         "torch.tensor(x) of a tensor makes a copy without its graph.",
         (("Copy with the graph.", "y = x.clone()"), ("Or say that the graph ends.", "y = x.detach().clone()")),
         STATES, "cut here"),
]


def text_for(text: str) -> Text | None:
    """The entry that knows an error's or a warning's text; None if none does."""
    return next((entry for entry in TEXTS if re.search(entry.words, text)), None)


def mends_in(entry: Text) -> list[Mend]:
    """What an entry says to do."""
    return [Mend(*mend) for mend in entry.mends]
