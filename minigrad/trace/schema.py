"""Defines the schema of a trace: every record and every event, with its fields, their types and their meaning.

Four things are made from these tables: the check of what is read (`check.py`), the check of what is recorded
(`encode.py`), the tables of docs/trace.md, and the types of the front end (`python -m tests.trace_page` writes both).

A field is written `"type: meaning"`, or `"type or absent: meaning"` where a record may lack it. A type is `int` (not
negative), `nr` (a small `int`), `whole` (any integer), `number`, `str`, `bool`, or the name of what the field is an
index of: `value`, `tensor`, `node`, `scope`, `file`, `storage`, `expression`. `type?` may be null, `[type]` is a list,
and `(label:type,type)` is a list of that length, whose entries are named by their labels, or by their types.
"""

from typing import NamedTuple

__all__ = ["BINDING", "COMMON", "COMMUNICATION", "DERIVED", "EVENTS", "FORMAT", "FORWARD", "INDEXED", "NODE", "OTHER",
           "PASS", "SCOPE", "TENSOR", "VERSION", "Field", "Record"]

FORMAT, VERSION = "minigrad-trace", 1
INDEXED = {"value": "values", "tensor": "tensors", "node": "nodes", "scope": "scopes", "file": "files",
           "storage": "storages", "expression": "expressions"}  # the lists, by the types of their indices


class Field(NamedTuple):
    """One field of a record."""

    type: str
    optional: bool
    meaning: str


class Record:
    """What a record or an event means, and its fields, in the order in which they are recorded and packed."""

    def __init__(self, meaning: str, /, **fields: str) -> None:
        self.meaning = meaning
        self.fields: dict[str, Field] = {}
        for name, text in fields.items():
            kind, _, about = text.partition(": ")
            self.fields[name] = Field(kind.removesuffix(" or absent"), kind.endswith(" or absent"), about)
        self.required = frozenset(name for name, field in self.fields.items() if not field.optional)


SCOPE = Record(
    "One call of a module. A module that is called twice has two, and a parent stands before what is inside of it.",
    name="str?: its path as an attribute of the module that called it; the variable that holds it, where none did",
    module="str: its class",
    parent="scope?: the call that it is inside of")
TENSOR = Record(
    "A tensor as it was when the recorder first saw it.",
    name="str?: the variable that holds it; of a parameter, its path from its module",
    shape="[int]: its shape",
    dtype="str: its dtype",
    requires_grad="bool: whether gradients are computed for it",
    is_leaf="bool: whether it has no `grad_fn`",
    node="node?: its `grad_fn`",
    output_nr="nr: which output of that it is",
    parameter="bool: whether it is a parameter of a module",
    storage="int: its memory, an index into `storages` where there are some; tensors with one `storage` share it",
    bytes="int: the bytes of its elements",
    value="value: what it held",
    base="tensor or absent: of a view, the tensor that it is a view of",
    counter="tensor or absent: another tensor with the same version counter that is not its base, as after `detach()`",
    version="int or absent: its version, if that was not 0",
    read="int or absent: the step after which the program first read its numbers by what is no op of the trace: `if`, "
         "`item()`, `numpy()`",
    unexplained="bool or absent: whether it was made while the program ran, and no event says of what: what it holds "
                "may depend on anything",
    offset="whole or absent: where it begins in its storage, in elements, if it does not lie there from the beginning "
           "row by row",
    strides="[whole] or absent: its strides in elements, in the same case")
NODE = Record(
    "A node of the graph.",
    name="str: its name, as `MulBackward0`",
    sequence_nr="whole?: when it was made; an `AccumulateGrad` has none, and the engine takes it before all others",
    next="[(node,output_nr:nr)?]: where its gradients go, in the order of `inputs`; null is PyTorch's `(None, 0)`",
    inputs="[tensor?]: the operands of its op; null is an operand that is no tensor",
    outputs="[tensor]: the results of its op",
    saved="[(name:str,tensor?,value?)]: what it has saved for its derivative",
    variable="tensor or absent: of an `AccumulateGrad`, its leaf",
    derivatives="[expression?] or absent: for each input the expression of its gradient, null where none goes there",
    seconds="(forward:number?,backward:number?) or absent: how long its op took, and its derivative in all passes, in "
            "seconds; null is unknown. Only a recording with `times=True` has it",
    parameters="[(name:str,expression)] or absent: what `derivatives` name and what is no tensor of the op, such as "
               "the positions of maxima, in operands of the op: `inputs[0]`, …",
    scope="scope or absent: the innermost call of a module that ran when the recorder first saw it",
    file="file? or absent: the file of the user's line that made it",
    line="int? or absent: the number of that line, from 1")
BINDING = Record(
    "Which tensors the names of a function hold from a step on. They are looked at when an op runs and the function "
    "has come to another line.",
    step="int: the event that comes next",
    call="int: the number of the call of the function, or of the program outside of functions",
    file="file: where its text stands",
    line="int?: the line that it has come to, from 1; null is its end",
    names="[(name:str,tensor?)]: what is new since it was looked at before; null is a name that holds no tensor now")
COMMON = Record(
    "What every event can have besides its `kind`.",
    file="file or absent: the file of the user's line that runs; it comes with `line`",
    line="int or absent: the number of that line, from 1",
    depth="nr or absent: how many backward passes and recomputations it is inside of, if any",
    time="number or absent: when it happened, in seconds since the recording began. Only events of a backward pass and "
         "of several ranks have it, in a recording with `times=True`",
    bytes="(parameters:int,activations:int,saved:int,gradients:int) or absent: the bytes that are held, where they "
          "differ from the event before",
    held="[(storage,what:nr,id:int?)] or absent: who has begun to hold a storage",
    dropped="[(storage,what:nr,id:int?)] or absent: who has ceased to")

FORWARD = {  # what the user's code runs
    "forward": Record(
        "An op ran.",
        op="str: its name, as its function has it",
        node="node?: the node that it made; null if it was not recorded",
        inputs="[tensor?]: its operands; null is one that is no tensor",
        outputs="[tensor]: its results",
        expressions="[expression] or absent: for each result its arithmetic, with the operands `inputs[0]`, "
                    "`inputs[1]`, …; of an op in place that of what it wrote to its first operand",
        reads="[tensor] or absent: tensors that are no operands, which the expressions call `reads[0]`, `reads[1]`, …",
        scope="scope or absent: the module that it ran in, where there is no node to say it",
        found="[(tensor,value)] or absent: what operands hold that were given other memory since they were seen last, "
              "as `w.data = …` does",
        rebased="[(tensor,before:node?,after:node)] or absent: which tensors an op in place gave another node: what "
                "was written to, or its base, whose new node is a `CopySlices`, and the view, which is an "
                "`AsStridedBackward0` of the base from then on; another view of the base gets its own at the op that "
                "uses it next"),
    "save": Record("A node saved its tensors.", node="node: which one; its record says what"),
    "version": Record(
        "An op in place raised a tensor's version.",
        tensor="tensor: which one",
        version="int: its version now",
        value="value? or absent: what it holds now, while its record has what it held when it was first seen; older "
              "traces have none",
        others="[(tensor,value)] or absent: what other tensors that share its memory hold now"),
    "grad": Record(
        "The program took a tensor's `.grad` off (`zero_grad()`), set it, or changed it in place.",
        tensor="tensor: whose",
        grad="value?: what is there now"),
    "mode": Record(
        "The user's code switched a grad mode, or `Function.apply` did around `forward`.",
        mode="str: `grad` or `inference`",
        on="bool: whether it is on now"),
    "checkpoint_begin": Record(
        "A checkpointed function begins its first run.",
        call="int: the number of the call, from 0",
        name="str: the function's name",
        reentrant="bool: which of the two ways to checkpoint it is"),
    "checkpoint_end": Record("The first run of a checkpointed function is over.", call="int: of which call"),
}
PASS = {  # what the engine does
    "backward_start": Record(
        "A pass begins: the engine counted how many gradients each node will receive.",
        roots="[(node,output_nr:nr,value?)]: where it begins, and with which gradients",
        needs="[(node,count:int)]: how many gradients each node waits for",
        create_graph="bool: whether the pass is recorded itself",
        retain_graph="bool: whether nodes keep what they have saved",
        inputs="[tensor]?: the inputs that were given, if any were; those that are edges are left out"),
    "ready": Record("The last gradient of a node arrived: it joins the ready queue.", node="node: which one"),
    "run": Record(
        "The engine took a node from the queue.",
        node="node: which one",
        gradient="[value?]: its gradients, one for each output of its op"),
    "hook": Record(
        "A hook ran.",
        node="node: at which node",
        hook="str: `tensor`, `retain_grad`, `pre`, `post` or `post_accumulate`",
        name="str: the name of the user's function",
        gradient="[value?]: the gradients that it left",
        tensor="tensor?: of `retain_grad` and `post_accumulate`, whose hook it is",
        grad="value? or absent: of `retain_grad`, the tensor's `.grad` now"),
    "release": Record("A node let go of what it had saved.", node="node: which one"),
    "flow": Record(
        "A gradient goes along an edge of the graph.",
        node="node: where it comes from",
        index="int: which entry of `next` the edge is, and so the gradient of which input",
        to="node: where it goes to",
        output_nr="nr: to which output of that",
        gradient="value?: what goes along",
        sum="value?: what has piled up at `to` for that output, this one included"),
    "accumulate": Record(
        "An `AccumulateGrad` added a gradient to its leaf's `.grad`.",
        node="node: which one",
        tensor="tensor: the leaf",
        gradient="value?: what it added",
        grad="value?: what is there now"),
    "capture": Record(
        "`autograd.grad` kept the gradient of one of its inputs.",
        tensor="tensor: of which one",
        gradient="value?: the gradient"),
    "backward_end": Record("The pass is over."),
}
OTHER = {  # checkpoints that run again, calls by hand, errors
    "call": Record(
        "Somebody called a node by hand.",
        node="node: which one",
        gradient="[value?]: what it was given",
        result="[value?]: what came out"),
    "error": Record(
        "The pass or the block ended in an exception.",
        type="str: its class",
        message="str: its text"),
    "recompute_begin": Record("A checkpointed function runs again; what it does is deeper.", call="int: of which call"),
    "holder_filled": Record(
        "A tensor that a non-reentrant checkpoint had not kept is there again.",
        call="int: of which call",
        index="int: as which of its saved tensors",
        value="value?: what it holds"),
    "early_stop": Record(
        "All that is needed is there: the rest of the function is left out.", call="int: of which call"),
    "recompute_end": Record(
        "Such a run is over, by its end, an early stop or an error.", call="int: of which call"),
}
COMMUNICATION = {  # what several processes do together
    "collective_start": Record(
        "This rank has called an operation of several ranks.",
        call="int: the number of the call, from 0",
        op="str: the operation, with dtype and shape",
        label="str: what it is for, or an empty text",
        size="int: the bytes of the tensor that it was given",
        group="[int] or absent: the ranks that take part, where these are not all",
        bucket="int or absent: the number of the bucket of `DistributedDataParallel` that it sums",
        parameters="[str] or absent: the parameters whose gradients are in it"),
    "collective_wait": Record("This rank begins to wait for the end of such an operation.", call="int: of which call"),
    "collective_end": Record(
        "Such an operation is over, and this rank knows it.",
        call="int: of which call",
        times="(called:number,begun:number?,ended:number) or absent: when this rank called it, when all ranks had, and "
              "when it was over, as `time`; null is unknown",
        written="[(tensor,value)] or absent: what tensors hold now that lie where it may have written",
        grads="[(tensor,value)] or absent: whose `.grad` lies there, and what that holds now"),
}
EVENTS = FORWARD | PASS | OTHER | COMMUNICATION
# These are not observed. They follow from other events by a rule that is the same for minigrad and PyTorch.
DERIVED = frozenset({"ready", "release"})
