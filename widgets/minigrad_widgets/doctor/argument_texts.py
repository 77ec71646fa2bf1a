"""The errors of ops and modules that get what they do not take: shapes, dtypes, indices, ranges and state dicts.

They are the errors that training code raises most often. `detail` is a second sentence with the numbers of the text, in
which `{who}` is the module that raised it, or "The op".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from minigrad_widgets.doctor.library import is_module
from minigrad_widgets.doctor.texts import TEXTS, Text

__all__ = ["ARGUMENTS", "text_for", "with_numbers"]

SHAPE, DTYPE, INDEX, RANGE = "shape-mismatch", "dtype-mismatch", "index-out-of-range", "value-out-of-range"
PRINT = ("Print both shapes just before this line.", "print(x.shape, y.shape)")
LONG = "y = y.long()"
USED = "used here"

ARGUMENTS = [
    # shapes
    Text(r"mat1 and mat2 shapes cannot be multiplied \((?P<rows>\d+)x(?P<given>\d+) and (?P<wanted>\d+)x(?P<out>\d+)\)",
         SHAPE, "Two matrices were multiplied whose inner sizes differ.",
         (("Make the layer as wide as what comes in.", "nn.Linear({given}, {out})"),
          ("If the input has too many dimensions, flatten all but the batch.", "x = x.flatten(1)")), None, USED,
         "{who} takes {wanted} features and got {given}."),
    Text(r"size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\) at non-singleton dimension "
         r"(?P<dim>\d+)", SHAPE, "Two tensors do not broadcast.",
         (PRINT, ("Give one of them a dimension of 1 where it should repeat.", "y = y.unsqueeze(-1)")), None, USED,
         "In dimension {dim} one has {a} entries and the other {b}, and neither has 1."),
    Text(r"expanded size of the tensor \((?P<wanted>\d+)\) must match the existing size \((?P<given>\d+)\) at "
         r"non-singleton dimension (?P<dim>\d+)", SHAPE,
         "A tensor was expanded, or written into another one, that does not fit.",
         (PRINT, ("Give it a dimension of 1 where it should repeat.", "y = y.unsqueeze(-1)")), None, USED,
         "In dimension {dim} it has {given} entries, which is neither 1 nor {wanted}."),
    Text(r"shape '(?P<shape>[^']*)' is invalid for input of size (?P<size>\d+)", SHAPE,
         "A tensor was given a shape that has another number of elements.",
         (("Let one size follow from the others.", "x = x.reshape(x.size(0), -1)"),), None, USED,
         "{shape} does not have {size} elements."),
    Text(r"view size is not compatible with input tensor's size and stride", SHAPE,
         "A view was asked for that would need a copy: the elements do not lie in this order in memory.",
         (("Let reshape copy them where it must.", "x = x.reshape(x.size(0), -1)"),), None, USED),
    Text(r"Sizes of tensors must match except in dimension (?P<dim>\d+)\. Expected size (?P<wanted>\d+) but got size "
         r"(?P<given>\d+) for tensor number (?P<number>\d+)", SHAPE,
         "Tensors were joined that differ in another dimension.",
         (PRINT, ("Join them along the dimension in which they differ.", "torch.cat([a, b], dim=1)")), None, USED,
         "They may differ in dimension {dim} only; tensor {number} has {given} elsewhere where {wanted} are expected."),
    Text(r"stack expects each tensor to be equal size, but got (?P<a>\[[^]]*\]) at entry 0 and (?P<b>\[[^]]*\]) at "
         r"entry (?P<number>\d+)", SHAPE,
         "Tensors of different shapes were stacked, as a DataLoader does to make a batch.",
         (("Pad them to one length.", "nn.utils.rnn.pad_sequence(rows, batch_first=True)"),
          ("Or give the loader a collate_fn that does.", "DataLoader(data, collate_fn=pad)")), None, USED,
         "The first is {a}, number {number} is {b}."),
    Text(r"Given groups=\d+, weight of size \[[^]]*\], expected input(?P<shape>\[[^]]*\]) to have (?P<wanted>\d+) "
         r"channels, but got (?P<given>\d+) channels", SHAPE,
         "A convolution got another number of channels than it has weights for.",
         (("Make its first argument the number of channels that come in.", "nn.Conv2d({given}, width, 3)"),
          ("If the channels are the last dimension, move them.", "x = x.permute(0, 3, 1, 2)")), None, USED,
         "{who} takes {wanted} channels and got {given}, in an input of shape {shape}."),
    Text(r"Expected (?P<dims>.*) input to (?P<op>conv\w+), but got input of size: (?P<shape>\[[^]]*\])", SHAPE,
         "A convolution got an input of another number of dimensions.",
         (("Add the missing dimension, of the batch or of the channels.", "x = x.unsqueeze(1)"),), None, USED,
         "{who} takes a {dims} input and got {shape}."),
    Text(r"Calculated padded input size per channel: \([^)]*\)\. Kernel size: \([^)]*\)\. "
         r"Kernel size can't be greater than actual input size|Output size is too small", SHAPE,
         "The image has become smaller than the window that goes over it.",
         (("Use padding, fewer or smaller strides, or larger images.", "nn.Conv2d(width, width, 3, padding=1)"),), None,
         USED),
    Text(r"Expected input batch_size \((?P<a>\d+)\) to match target batch_size \((?P<b>\d+)\)", SHAPE,
         "A loss got another number of predictions than of targets.",
         (("Give it one row of scores for each target.", "F.cross_entropy(scores.flatten(0, 1), y.flatten())"),),
         None, USED,
         "There are {a} predictions and {b} targets."),
    Text(r"Given normalized_shape=(?P<wanted>\[[^]]*\]), expected input with shape \[[^]]*\], but got input of size\s?"
         r"(?P<given>\[[^]]*\])", SHAPE, "A LayerNorm got an input whose last sizes are not its own.",
         (("Make it as wide as what comes in.", "nn.LayerNorm(x.size(-1))"),), None, USED,
         "{who} normalises {wanted} and got {given}."),
    Text(r"input\.size\(-1\) must be equal to input_size\. Expected (?P<wanted>\d+), got (?P<given>\d+)", SHAPE,
         "A recurrent layer got another number of features than it takes.",
         (("Make its first argument the number of features that come in.", "nn.LSTM({given}, hidden)"),), None, USED,
         "{who} takes {wanted} features and got {given}."),
    Text(r"running_mean should contain (?P<given>\d+) elements not (?P<wanted>\d+)", SHAPE,
         "A BatchNorm got another number of channels than it has.",
         (("Make its argument the number of channels that come in.", "nn.BatchNorm2d({given})"),), None, USED,
         "{who} has {wanted} channels and got {given}."),
    # dtypes
    Text(r"mat1 and mat2 must have the same dtype, but got (?P<a>\w+) and (?P<b>\w+)", DTYPE,
         "Two matrices of different dtypes were multiplied.",
         (("Convert the input to the dtype of the weights.", "x = x.to(model.weight.dtype)"),), None, USED,
         "One is {a}, the other {b}."),
    Text(r"expected (scalar type|target dtype to be) (?P<wanted>[\w ]+),? but (found|got) (?P<given>\w+)", DTYPE,
         "An op got another dtype than it takes.",
         (("If these are the targets of a classification, make them integers.", LONG),
          ("Otherwise convert them to what it takes.", "x = x.float()")), None, USED,
         "It takes {wanted} and got {given}."),
    Text(r"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
         r"(torch\.)?(?P<given>\w+?)(Tensor)? instead", DTYPE, "An Embedding got numbers that are not integers.",
         (("Make them integers.", "tokens = tokens.long()"),), None, USED, "{who} got {given}."),
    Text(r"Input type \((?P<a>[^)]*)\) and (bias|weight) type \((?P<b>[^)]*)\) should be the same", DTYPE,
         "A layer got another dtype or device than its weights have.",
         (("Convert the input.", "x = x.to(model.weight)"),), None, USED, "The input is {a}, the weights are {b}."),
    Text(r"Found dtype (?P<given>\w+) but expected (?P<wanted>\w+)", DTYPE,
         "A loss got a prediction and a target of different dtypes.",
         (("Make the target what the prediction is.", "y = y.to(scores.dtype)"),), None, USED,
         "One is {given}, and {wanted} was expected."),
    Text(r"result type (?P<given>\w+) can't be cast to the desired output type (?P<wanted>\w+)", DTYPE,
         "An in-place op would write numbers of one dtype into a tensor of another.",
         (("Make a new tensor.", "x = x * 0.5   # not x *= 0.5"),), None, USED,
         "The result is {given}, and the tensor is {wanted}."),
    Text(r"could not infer output dtype\. Input dtype must be either a floating point or complex dtype\. Got: "
         r"(?P<given>\w+)",
         DTYPE, "A mean of integers was asked for.", (("Convert them first.", "x.float().mean()"),), None, USED,
         "They are {given}."),
    # indices and ranges
    Text(r"Target (?P<given>-?\d+) is out of bounds", INDEX, "A target is no class: classes count from 0.",
         (("Give the last layer one score for each class.", "nn.Linear(width, classes)"),
          ("If the classes count from 1, subtract it.", "y = y - 1"),
          ("If the number marks padding, say so.", "F.cross_entropy(scores, y, ignore_index={given})")), None, USED,
         "There is a target {given}."),
    Text(r"index out of range in self", INDEX, "An Embedding got a number that is not in its table.",
         (("Make the table as long as the largest number plus 1.", "nn.Embedding(int(tokens.max()) + 1, width)"),),
         None, USED, "{who} does not have it."),
    Text(r"index (?P<given>-?\d+) is out of bounds for dimension (?P<dim>\d+) with size (?P<size>\d+)", INDEX,
         "An element was asked for that the tensor does not have.",
         (("Count from 0 to its size less 1.", "x[x.size(0) - 1]"),), None, USED,
         "Dimension {dim} has {size} entries, and number {given} was asked for."),
    Text(r"Dimension out of range \(expected to be in range of \[(?P<low>-?\d+), (?P<high>-?\d+)\], but got "
         r"(?P<given>-?\d+)\)",
         INDEX, "A dimension was named that the tensor does not have.",
         (("Print its shape; a batch may be missing.", "print(x.shape)"),), None, USED,
         "It has {low} to {high}, and {given} was asked for."),
    Text(r"all elements of (?P<which>input|target) should be between 0 and 1", RANGE,
         "A binary cross-entropy got numbers that are no probabilities.",
         (("If these are raw scores, use the loss that takes them.", "F.binary_cross_entropy_with_logits(scores, y)"),
          ("If the labels are 1 and 2, or -1 and 1, make them 0 and 1.", "y = (y > 0).float()")), None, USED,
         "They are its {which}."),
    Text(r"Expected more than 1 value per channel when training, got input size (?P<shape>.*)", "one-value-per-channel",
         "A BatchNorm in train mode got one value for each channel: it has no variance.",
         (("Leave out the last batch if it has one example.", "DataLoader(data, batch_size=32, drop_last=True)"),
          ("Or evaluate.", "model.eval()")), None, USED, "{who} got {shape}."),
    # conversions and state dicts
    Text(r"a Tensor with (?P<size>\d+) elements cannot be converted to Scalar", "several-elements",
         "A tensor of several elements was converted to one number.",
         (("Reduce it first.", "loss.mean().item()"),), None, USED, "It has {size}."),
    Text(r"Boolean value of Tensor with (more than one|no) value", "several-elements",
         "A tensor of several elements was used where Python wants true or false.",
         (("Say whether all or any are meant.", "if (x > 0).all(): ..."),), None, USED),
    Text(r"Error\(s\) in loading state_dict for (?P<name>\w+)", "state-dict-mismatch",
         "The keys or shapes of a state dict are not those of the module.",
         (("Build the module as it was when it was saved.", "model = Net(width=width_when_saved)"),
          ("If the keys begin with `module.`, they come from DataParallel.",
           "state = {{k.removeprefix('module.'): v for k, v in state.items()}}"),
          ("If some are meant to be missing, say so.", "model.load_state_dict(state, strict=False)")), None, USED,
         "It was loaded into {name}."),
]


def text_for(text: str) -> Text | None:
    """Return the entry for the text of an error or a warning; None if there is none."""
    return next((entry for entry in [*TEXTS, *ARGUMENTS] if re.search(entry.words, text)), None)


def with_numbers(entry: Text, text: str, error: BaseException | None, names: Mapping[str, Any]) -> Text:
    """Return an entry with the numbers of an error's text, and the module that raised it."""
    found = re.search(entry.words, text)
    if found is None or not entry.detail:
        return entry
    known = found.groupdict()
    who = module_of(None if error is None else error.__traceback__, names)
    mends = tuple((what, code.format(**known)) for what, code in entry.mends)
    return entry._replace(what=f"{entry.what} {entry.detail.format(who=who, **known)}", mends=mends)


def module_of(trace: TracebackType | None, names: Mapping[str, Any]) -> str:
    """Return the path and the text of the library's own module in whose `forward` an error was raised."""
    modules = []
    while trace is not None:
        code, known = trace.tb_frame.f_code, trace.tb_frame.f_locals
        if code.co_name == "forward" and code.co_argcount and is_module(known.get(code.co_varnames[0])):
            modules.append(known[code.co_varnames[0]])
        trace = trace.tb_next
    if not modules or not type(modules[-1]).__module__.startswith(("torch.nn.", "minigrad.nn.")):
        return "The op"
    root, raised = modules[0], modules[-1]
    path = next(name for name, module in root.named_modules() if module is raised)
    nameless = "" if root is raised else type(root).__name__
    variable = next((name for name, value in names.items() if value is root), nameless)
    variable = "model" if variable == "self" else variable  # the call itself was explained
    where = ".".join(filter(None, [variable, path]))
    return f"{where}, {raised}," if where else str(raised)
