"""Defines the schema of a trace: every record and every event, with its fields, their types and their meaning.

Four things derive from these tables: the check of a trace that is read (`validation.py`), that of one that is recorded
(`recording/encoder.py`), the tables of docs/trace.md, and the types of the front end (`python -m tests.trace_page`
writes both). `Parts` are the lists themselves.

A field is written `"type: meaning"`, or `"type or absent: meaning"` if a record may lack it. A type is `int` (not
negative), `nr` (a small `int`), `whole` (any integer), `number`, `str`, `bool`, or what the field is an index of:
`value`, `tensor`, `node`, `scope`, `file`, `storage`, `expression`. `type?` may be null, `[type]` is a list, and
`(label:type,type)` is a list of that length, whose entries are named by their labels, or by their types.
"""

from typing import Any, NamedTuple

__all__ = ["BINDING", "COMMON", "COMMUNICATION", "DERIVED", "EVENTS", "FORMAT", "FORWARD", "INDEXED", "NODE", "OTHER",
           "PASS", "SCOPE", "TENSOR", "VERSION", "Field", "Parts", "Record"]

FORMAT, VERSION = "minigrad-trace", 1
INDEXED = {"value": "values", "tensor": "tensors", "node": "nodes", "scope": "scopes", "file": "files",
           "storage": "storages", "expression": "expressions"}  # the lists, by the types of their indices


class Parts:
    """The lists of a trace."""

    def __init__(self) -> None:
        self.files: list[dict[str, Any]] = []
        self.values: list[Any] = []
        self.tensors: list[Any] = []
        self.nodes: list[Any] = []
        self.scopes: list[Any] = []
        self.storages: list[int] = []
        self.formulas: dict[str, str] = {}
        self.expressions: list[Any] = []
        self.events: list[Any] = []
        self.bindings: list[Any] = []
        self.arrays: dict[int, Any] = {}  # by value: all of it, in a recording with `detail="arrays"`; in no file


class Field(NamedTuple):
    """One field of a record."""

    type: str
    optional: bool
    meaning: str


class Record:
    """The meaning of a record or an event, and its fields, in the order in which they are recorded and packed."""

    def __init__(self, meaning: str, /, **fields: str) -> None:
        self.meaning = meaning
        self.fields: dict[str, Field] = {}
        for name, text in fields.items():
            kind, _, about = text.partition(": ")
            self.fields[name] = Field(kind.removesuffix(" or absent"), kind.endswith(" or absent"), about)
        self.required = frozenset(name for name, field in self.fields.items() if not field.optional)


SCOPE = Record(
    "One call of a module, or one run of a function by a transform: `vmap ×5`, of five examples, `grad`, `vjp`, `jvp`. "
    "A module that is called twice has two records, and a parent precedes the calls inside it.",
    name="str?: its path as an attribute of the module that called it; without a caller, the variable that holds it",
    module="str: its class, or what transform it is",
    parent="scope?: the enclosing call",
    inputs="[tensor] or absent: the tensors among its arguments, at any depth, as far as the recording has met them",
    outputs="[tensor] or absent: the tensors that it returned, in the same way; absent if it raised or is not over")
TENSOR = Record(
    "A tensor as it was when the recorder first saw it.",
    name="str?: the variable that holds it; for a parameter, its path from its module",
    shape="[int]: its shape",
    dtype="str: its dtype",
    requires_grad="bool: whether gradients are computed for it",
    is_leaf="bool: whether it has no `grad_fn`",
    node="node?: its `grad_fn`",
    output_nr="nr: the index of this output of its `grad_fn`",
    parameter="bool: whether it is a parameter of a module",
    storage="int: its memory, an index into `storages` if there are any; tensors with equal `storage` share it",
    bytes="int: the bytes of its elements",
    value="value: its values at that time",
    base="tensor or absent: for a view, its base",
    counter="tensor or absent: another tensor with the same version counter that is not its base, as after `detach()`",
    version="int or absent: its version, if not 0",
    read="int or absent: the step after which the program first read its numbers by something other than an op: `if`, "
         "`item()`, `numpy()`",
    unexplained="bool or absent: whether it was created while the program ran by no recorded event: its values may "
                "depend on anything",
    tangent="tensor or absent: in forward mode, the direction in which it moves: a column of a Jacobian",
    offset="whole or absent: its offset in its storage, in elements, unless it is contiguous from the start",
    strides="[whole] or absent: its strides in elements, in the same case")
NODE = Record(
    "A node of the graph.",
    name="str: its name, e.g. `MulBackward0`; `Dual` stands for a tensor where a tangent begins and no graph leads",
    sequence_nr="whole?: its place in the order of creation; an `AccumulateGrad` has none, and the engine runs it "
                "first",
    next="[(node,output_nr:nr)?]: where its gradients go, in the order of `inputs`; null is PyTorch's `(None, 0)`",
    inputs="[tensor?]: the operands of its op; null is an operand that is not a tensor",
    outputs="[tensor]: the results of its op",
    saved="[(name:str,tensor?,value?)]: the values that it saved for its derivative",
    variable="tensor or absent: for an `AccumulateGrad` its leaf, for a `Dual` its tensor",
    derivatives="[expression?] or absent: for each input the expression of its gradient, null if it gets none",
    seconds="(forward:number?,backward:number?) or absent: the time of its op, and of its derivative in all passes, in "
            "seconds; null is unknown. Only in a recording with `times=True`",
    parameters="[(name:str,expression)] or absent: names in `derivatives` that are not tensors of the op, such as "
               "the indices of maxima, as expressions of its operands: `inputs[0]`, …",
    scope="scope or absent: the innermost call of a module that was running when the recorder first saw it",
    file="file? or absent: the file of the user's line that created it",
    line="int? or absent: the number of that line, from 1")
BINDING = Record(
    "The tensors that the variables of a function hold from a step on. They are read when an op runs and the function "
    "has reached another line.",
    step="int: the next event",
    call="int: the number of the call of the function, or of the program outside functions",
    file="file: the file with its source",
    line="int?: the line that it has reached, from 1; null is its end",
    names="[(name:str,tensor?)]: the changes since the last reading; null is a variable that no longer holds a tensor")
COMMON = Record(
    "Fields that every event can have besides its `kind`.",
    file="file or absent: the file of the user's line that is running; together with `line`",
    line="int or absent: the number of that line, from 1",
    depth="nr or absent: the number of backward passes and recomputations around it, if any",
    time="number or absent: its time, in seconds since the recording began. Only events of a backward pass and of "
         "several ranks have it, in a recording with `times=True`",
    bytes="(parameters:int,activations:int,saved:int,gradients:int,optimizer?:int) or absent: the bytes that are held, "
          "if they differ from the previous event; those of the state of optimizers only if there is any",
    held="[(storage,what:nr,id:int?)] or absent: the new holders of storages",
    dropped="[(storage,what:nr,id:int?)] or absent: the former holders of storages")

FORWARD = {  # what the user's code does
    "forward": Record(
        "An op ran.",
        op="str: the name of its function",
        node="node?: the node that it created; null if it was not recorded",
        inputs="[tensor?]: its operands; null is one that is not a tensor",
        outputs="[tensor]: its results",
        expressions="[expression] or absent: for each result its arithmetic, with the operands `inputs[0]`, "
                    "`inputs[1]`, …; for an in-place op, that of the new values of its first operand",
        reads="[tensor] or absent: tensors other than operands that the expressions call `reads[0]`, `reads[1]`, …",
        scope="scope or absent: the call of a module that it ran in, if it has no node with a scope",
        found="[(tensor,value)] or absent: the values of operands that have received other memory since they were last "
              "seen, e.g. by `w.data = …`",
        rebased="[(tensor,before:node?,after:node)] or absent: the tensors to which an in-place op gave another node: "
                "the one written to, or its base, whose new node is a `CopySlices`, and the view, whose new node is an "
                "`AsStridedBackward0` of the base; another view of the base gets its own at the op that "
                "uses it next"),
    "save": Record("A node saved its tensors.", node="node: which one; its record has the saved values"),
    "version": Record(
        "An in-place op raised a tensor's version.",
        tensor="tensor: which one",
        version="int: its version now",
        value="value? or absent: its values now, whereas its record has those when it was first seen; older traces "
              "lack it",
        others="[(tensor,value)] or absent: the values now of other tensors that share its memory"),
    "grad": Record(
        "The program removed a tensor's `.grad` (`zero_grad()`), set it, or changed it in place.",
        tensor="tensor: whose",
        grad="value?: its new values"),
    "mode": Record(
        "The user's code switched a grad mode, or `Function.apply` did around `forward`.",
        mode="str: `grad` or `inference`",
        on="bool: whether it is on now"),
    "checkpoint_begin": Record(
        "The first run of a checkpointed function begins.",
        call="int: the number of the call, from 0",
        name="str: the function's name",
        reentrant="bool: whether it is the reentrant variant"),
    "checkpoint_end": Record("The first run of a checkpointed function ends.", call="int: of which call"),
}
PASS = {  # what the engine does
    "backward_start": Record(
        "A pass begins: the engine counted how many gradients each node will receive.",
        roots="[(node,output_nr:nr,value?)]: the nodes where it begins, and their gradients",
        needs="[(node,count:int)]: how many gradients each node waits for",
        create_graph="bool: whether the pass is recorded itself",
        retain_graph="bool: whether the program asked to keep the saved values; a pass that `inspect` runs keeps them "
                     "unasked",
        inputs="[tensor]?: the inputs given, if any; those that are edges are omitted"),
    "ready": Record("The last gradient of a node arrived: it joins the ready queue.", node="node: which one"),
    "run": Record(
        "The engine took a node from the queue.",
        node="node: which one",
        gradient="[value?]: its gradients, one for each output of its op"),
    "hook": Record(
        "A hook ran.",
        node="node: the node at which it ran",
        hook="str: `tensor`, `retain_grad`, `pre`, `post` or `post_accumulate`",
        name="str: the name of the user's function",
        gradient="[value?]: the gradients after it",
        tensor="tensor?: for `retain_grad` and `post_accumulate`, the tensor of the hook",
        grad="value? or absent: for `retain_grad`, the tensor's `.grad` now"),
    "release": Record("A node freed its saved values.", node="node: which one"),
    "flow": Record(
        "A gradient flows along an edge of the graph.",
        node="node: its source",
        index="int: the index of the edge in `next`, which is that of the input with this gradient",
        to="node: its destination",
        output_nr="nr: the output of `to`",
        gradient="value?: the gradient",
        sum="value?: the sum so far at `to` for that output, including this one"),
    "accumulate": Record(
        "An `AccumulateGrad` added a gradient to its leaf's `.grad`.",
        node="node: which one",
        tensor="tensor: the leaf",
        gradient="value?: the gradient that it added",
        grad="value?: the sum"),
    "capture": Record(
        "`autograd.grad` kept the gradient of one of its inputs.",
        tensor="tensor: of which one",
        gradient="value?: the gradient"),
    "backward_end": Record("The pass ends."),
}
OTHER = {  # checkpoints that run again, direct calls, errors
    "call": Record(
        "The program called a node directly.",
        node="node: which one",
        gradient="[value?]: its arguments",
        result="[value?]: its results"),
    "error": Record(
        "The pass or the block ended in an exception.",
        type="str: its class",
        message="str: its text",
        scope="scope or absent: the innermost call of a module that raised it"),
    "recompute_begin": Record(
        "A checkpointed function runs again; its events have a greater `depth`.", call="int: of which call"),
    "holder_filled": Record(
        "A tensor that a non-reentrant checkpoint had not kept is available again.",
        call="int: of which call",
        index="int: its index among the saved tensors",
        value="value?: its values"),
    "early_stop": Record(
        "All needed tensors are available: the rest of the function is skipped.", call="int: of which call"),
    "recompute_end": Record(
        "The recomputation ends, normally, by an early stop or by an error.", call="int: of which call"),
}
COMMUNICATION = {  # operations of several processes
    "collective_start": Record(
        "This rank called a collective operation.",
        call="int: the number of the call, from 0",
        op="str: the operation, with dtype and shape",
        label="str: its purpose, or an empty string",
        size="int: the size of its tensor in bytes",
        group="[int] or absent: the participating ranks, if not all",
        bucket="int or absent: the number of the bucket of `DistributedDataParallel` that it sums",
        parameters="[str] or absent: the parameters whose gradients are in it"),
    "collective_wait": Record("This rank begins to wait for the end of the operation.", call="int: of which call"),
    "collective_end": Record(
        "The operation has ended, and this rank knows it.",
        call="int: of which call",
        times="(called:number,begun:number?,ended:number) or absent: when this rank called it, when all ranks had, and "
              "when it ended, as `time`; null is unknown",
        written="[(tensor,value)] or absent: the values now of tensors in memory that it may have written",
        grads="[(tensor,value)] or absent: the values now of `.grad`s in that memory, by their tensors"),
}
EVENTS = FORWARD | PASS | OTHER | COMMUNICATION
# These are not observed. They follow from other events by the same rule for minigrad and PyTorch.
DERIVED = frozenset({"ready", "release"})
