"""What people ask about autograd, and what they were told that PyTorch 2.13 contradicts: where the course answers it.

A cell that answers a question has the tag `answers:ID`; a cell that shows that a claim does not hold, `contradicts:ID`.
The linter knows these tags, and `python -m tests.lessons.pages` makes docs/questions.md from them.
"""

from dataclasses import dataclass

SOURCES = {
    "row": "asked again and again",
    "s0": "the forum thread “Tensor.requires_grad in torch.autograd.Function”",
    "s1": "the forum thread “About the implementation of activation checkpointing”",
    "s2": "a blog post on the computation graph, grad_fn and next_functions",
    "s3": "the tutorial “Understanding requires_grad, retain_grad, Leaf, and Non-leaf Tensors”",
    "s4": "a page of notes on a tensor's attributes and methods",
}


@dataclass(frozen=True)
class Asked:
    """A question, where it was asked, and the lessons that answer it."""

    id: str
    text: str
    lessons: tuple[int, ...]
    where: str = ""

    @property
    def source(self) -> str:
        """The text or the places in which people ask it."""
        return self.where or SOURCES[self.id.partition(".")[0]]


@dataclass(frozen=True)
class Claim:
    """What a text says, what PyTorch 2.13 does, and the lesson that shows it."""

    id: str
    text: str
    found: str
    lesson: int

    @property
    def source(self) -> str:
        """The text that says so."""
        return SOURCES["s" + self.id.partition(".")[0].removeprefix("c")]


ROWS = (
    Asked("row1", "Why is .grad None on my tensor?", (6,), "forum 2222; pytorch #3890"),
    Asked("row2", "“Trying to backward through the graph a second time”: what did I do?", (4,), "forum 3508, 3515"),
    Asked("row3", "“one of the variables … modified by an inplace operation”: which, and why?", (8,), "forum"),
    Asked("row4", "Why must I call zero_grad()?", (5,), "Stack Overflow"),
    Asked("row5", "“grad can be implicitly created only for scalar outputs”: why?", (4,), "forum 116079"),
    Asked("row6", "“element 0 of tensors does not require grad …”: where was the graph cut?", (2, 7), "many pages"),
    Asked("row7", "eval() or no_grad()?", (7,), "Stack Overflow"),
    Asked("row8", "detach(), clone() or .data?", (8,), "the migration note; Stack Overflow"),
    Asked("row9", "Why is my tensor not a leaf after .cuda() or .to()?", (8,), "forum 28461; SO 65301875"),
    Asked("row10", "“a leaf Variable that requires grad is being used in an in-place operation”: what now?", (8,),
          "forum 308, 120297"),
    Asked("row11", "What is in next_functions, and what is its integer?", (3,), "forum 24463; SO 63855505"),
    Asked("row12", "Why is output.requires_grad False inside Function.forward and True outside?", (9,),
          "forum 194377; pytorch #55438, #133854, #7698, #32091"),
    Asked("row13", "Is the no_grad in CheckpointFunction.forward redundant?", (10,), "forum 194377"),
    Asked("row14", "Why do checkpoint's outputs require grad, even if my function detached them?", (10,),
          "forum 78102; pytorch #37266"),
    Asked("row15", "use_reentrant True or False?", (10,), "forum 213226; pytorch #69027, #90105"),
    Asked("row16", "retain_graph or create_graph?", (4, 12), "forum 3508"),
    Asked("row17", "In which order do hooks run?", (6,), "forum 2222; pytorch #85849, #91667, #107063"),
    Asked("row18", "save_for_backward or ctx.x?", (9,), "pytorch #153005"),
    Asked("row19", "Why does autograd.grad say “not used in the graph”?", (4,), "the reference"),
    Asked("row20", "Why a topological order instead of recursion?", (4,), "micrograd #21, #64, #68, #81, #91, #96"),
)

IN_TEXTS = (
    Asked("s0.1", "Both inputs require grad. Why does mm inside forward give a tensor that does not?", (9,)),
    Asked("s0.2", "Who switches recording off around forward, and where in the source?", (9,)),
    Asked("s0.3", "What is done to the output after forward, so that it requires grad outside?", (9,)),
    Asked("s0.4", "What is this design for: does it save memory?", (9,)),
    Asked("s0.5", "How do Function and checkpoint differ in what they do in the forward pass?", (10,)),
    Asked("s0.6", "By what does CheckpointFunction save memory: by leaving out gradients?", (10,)),
    Asked("s0.7", "Is the no_grad in its forward one too many, since apply has switched recording off?", (10,)),
    Asked("s0.8", "Which code gives the output its grad_fn?", (9,)),
    Asked("s1.1", "The block ran under no_grad. Why does the output of checkpoint require grad?", (10,)),
    Asked("s1.2", "Do the segments of checkpoint_sequential run under no_grad, and does that explain it?", (10,)),
    Asked("s1.3", "Where is the flag of the output changed?", (9,)),
    Asked("s1.4", "Why does the flag of the output follow that of the input?", (10,)),
    Asked("s2.1", "How do grad_fn and next_functions make up the graph that backward walks?", (3,)),
    Asked("s2.2", "How do I do a backward pass by hand, node by node?", (3,)),
    Asked("s2.3", "What is the difference between backward() and autograd.grad()?", (4,)),
    Asked("s2.4", "How do I get gradients of a result that has more than one number?", (4,)),
    Asked("s2.5", "How do I call backward twice on the same graph?", (4,)),
    Asked("s2.6", "Why do gradients add up from step to step?", (5,)),
    Asked("s2.7", "What happens to the gradients of inner results, and how do I keep one?", (6,)),
    Asked("s2.8", "What is the difference between a hook on a tensor and a hook on a node?", (6,)),
    Asked("s2.9", "Which of eval() and no_grad() saves memory, and which do I need to predict?", (7,)),
    Asked("s3.1", "What is a leaf, and what is not?", (1,)),
    Asked("s3.2", "What sets requires_grad on data, on results, on parameters?", (2,)),
    Asked("s3.3", "Why can backward not start at a loss that nothing recorded?", (2,)),
    Asked("s3.4", "Which tensors have a .grad after backward, and which do not?", (1,)),
    Asked("s3.5", "Why does reading .grad of an inner result warn and give None?", (6,)),
    Asked("s3.6", "Which states of is_leaf, requires_grad and retains_grad are there?", (2,)),
    Asked("s3.7", "What do requires_grad_() and retain_grad() do in each of these states?", (2,)),
    Asked("s4.1", "May I set requires_grad to False on a result?", (2,)),
    Asked("s4.2", "Which tensors may call backward()?", (4,)),
    Asked("s4.3", "What do detach() and clone() copy, and what do they cut?", (8,)),
    Asked("s4.4", "What do no_grad, enable_grad and set_grad_enabled do, nested and as decorators?", (7,)),
    Asked("s4.5", "What do I call retain_grad() on, and when?", (6,)),
    Asked("s4.6", "What do grad_outputs, retain_graph and create_graph mean in autograd.grad?", (4,)),
    Asked("s4.7", "How do I compute the normals of a signed distance function?", (12,)),
    Asked("s4.8", "Why is a tensor not a leaf after it was moved to the GPU?", (8,)),
    Asked("s4.9", "Which of a layer's weights, its input, its output, the target and the loss have a .grad in the end?",
          (11,)),
)

QUESTIONS = {asked.id: asked for asked in (*ROWS, *IN_TEXTS)}

# The answer to each question, in one sentence.
IN_SHORT = {
    "row1": "Backward keeps gradients only for leaves that require grad; call `retain_grad()` on any other tensor "
            "before the pass.",
    "row2": "A backward pass frees what nodes saved, so a second pass through the same graph needs "
            "`retain_graph=True` in the first, or a new forward pass.",
    "row3": "A node saved that tensor for its derivative, and somebody wrote into its memory before backward read "
            "it; the message names the node, and anomaly mode the line.",
    "row4": "Backward adds to `.grad`, so without `zero_grad()` each step uses the sum of all gradients so far.",
    "row5": "Backward starts with the gradient 1 of one number; for a result of several numbers you must say how "
            "much each counts, by `gradient=`.",
    "row6": "Nothing that led to the loss was recorded: look for `no_grad`, `detach`, `.item()` or `.tolist()`, or "
            "an operation without a derivative, such as `argmax` or `>`.",
    "row7": "Both, for predictions: `eval()` changes what dropout and normalisation compute, and `no_grad()` stops "
            "recording.",
    "row8": "`detach()` shares memory and leaves the graph, `clone()` copies and stays in the graph, and `.data` "
            "hides changes from backward, so avoid it.",
    "row9": "`.to()` and `.cuda()` are operations: the result is computed from the leaf, and the leaf gets the "
            "gradient.",
    "row10": "Change it under `torch.no_grad()`: a leaf's update is not part of the formula.",
    "row11": "One pair for each input: the node that the gradient goes to, and which of that node's outputs this "
             "input was.",
    "row12": "`forward` runs with recording off, and `apply` attaches the node to what it returned afterwards.",
    "row13": "When it is called by `apply`, yes: recording is off already; it matters only if somebody calls "
             "`forward` directly.",
    "row14": "Checkpoint is a Function: `apply` attaches its node to the outputs, whatever happened inside.",
    "row15": "`use_reentrant=False`: it works with `autograd.grad`, with arguments by name, and where only the "
             "weights need a gradient.",
    "row16": "`retain_graph` keeps what nodes saved for another pass; `create_graph` also records the pass, so that "
             "its result can be differentiated.",
    "row17": "Tensor hooks come first, in the order in which they were added, then pre-hooks, the node and its post-"
             "hooks; at a leaf, hooks that run after accumulation come last.",
    "row18": "`save_for_backward` for tensors: an attribute of `ctx` can keep itself in memory, and "
             "nobody checks its version; plain numbers may be attributes.",
    "row19": "The output was not computed from that input; `allow_unused=True` gives None for it instead of an error.",
    "row20": "Recursion walks every path, and their number can double at each step; in topological order each node "
             "runs once.",
    "s0.1": "Recording is off inside `forward`, so no operation there gives its result a history.",
    "s0.2": "`apply` does, with `no_grad()` around the call of `forward`; in PyTorch this is C++, in "
            "`python_function.cpp`.",
    "s0.3": "One node, made for this call, is attached to it as its `grad_fn`.",
    "s0.4": "You supply the derivative, so nothing inside need be recorded; it saves memory if you save less than "
            "the recorded operations would.",
    "s0.5": "A Function computes its result and saves what its derivative needs; checkpoint saves only the inputs, "
            "and computes everything else again in backward.",
    "s0.6": "No: there are no gradients in a forward pass; it leaves out the values that nodes would save.",
    "s0.7": "Under `apply` it changes nothing; it keeps a direct call of `forward` from being recorded.",
    "s0.8": "`apply` does, in the step after `forward` that wraps the outputs.",
    "s1.1": "The node of the checkpoint was attached to it after the block had run.",
    "s1.2": "With `use_reentrant=True` all but the last do; the last is recorded as always, and gives the output its"
            " node.",
    "s1.3": "In `apply`, after `forward` has returned.",
    "s1.4": "A reentrant checkpoint is a node, and as for every node, its output requires grad if an input of "
            "`apply` does.",
    "s2.1": "`grad_fn` is the node that made a tensor, and `next_functions` are its edges to the nodes that made its"
            " inputs, down to the leaves.",
    "s2.2": "Call the node with the gradient of its output, hand each result to the node in `next_functions` at the "
            "same place, and add up where paths meet.",
    "s2.3": "`backward()` adds gradients to the `.grad` of leaves; `autograd.grad()` returns those you ask for, and "
            "touches no `.grad`.",
    "s2.4": "Hand over a weight for each number, as `gradient=` or `grad_outputs=`: you get the gradient of the "
            "weighted sum.",
    "s2.5": "Pass `retain_graph=True` in all passes but the last.",
    "s2.6": "Because a parameter can be used several times, and all of its gradients count; passes are added up in "
            "the same way.",
    "s2.7": "They pass through and are dropped; `retain_grad()` keeps one in `.grad`, and a hook sees it pass.",
    "s2.8": "A hook on a tensor sees the gradient of that tensor, and may change it; a pre-hook of a node sees those"
            " of all its outputs, and a post-hook also what the node makes of them.",
    "s2.9": "`no_grad()` saves memory; `eval()` makes predictions right, so use both.",
    "s3.1": "A leaf is a tensor that no recorded operation made: data, a parameter, whatever was detached.",
    "s3.2": "Data does not require grad unless you ask, parameters do, and a result does if an input does while "
            "recording is on.",
    "s3.3": "Without a `grad_fn` there is no graph to walk.",
    "s3.4": "Leaves that require grad and took part; of the others only those on which `retain_grad()` was called.",
    "s3.5": "Its gradient was used and dropped, and the warning says how to keep it: `retain_grad()`.",
    "s3.6": "Leaves without and with requires_grad, results, which always have it, and each of these three with a "
            "retained gradient: six.",
    "s3.7": "`requires_grad_()` switches leaves only, and `retain_grad()` works where requires_grad is True; the "
            "table shows each case.",
    "s4.1": "No: its flag follows from its history; `detach()` gives you a tensor without one.",
    "s4.2": "Those with a `grad_fn`, and leaves that require grad.",
    "s4.3": "`clone()` copies the numbers and cuts nothing, `detach()` copies nothing and cuts the graph.",
    "s4.4": "Each sets the mode until its block or function ends, and then the mode before it is back; the innermost"
            " one counts.",
    "s4.5": "On a result that requires grad, before the backward pass.",
    "s4.6": "The weights of the outputs, whether what was saved is kept for another pass, and whether the pass "
            "itself is recorded.",
    "s4.7": "Differentiate the distance with respect to the points, with `create_graph=True` if a loss is to use the"
            " normals.",
    "s4.8": "The move is recorded as an operation, so the tensor on the GPU is a result; make the leaf there, or "
            "read the gradient from the original.",
    "s4.9": "Only the layer's parameters, if you asked for nothing else.",
}

CLAIMS = {claim.id: claim for claim in (
    Claim("c0.1", "checkpoint leaves out gradients in the forward pass",
          "there are none in a forward pass; what it leaves out are the values saved for backward", 10),
    Claim("c0.2", "`with torch.no_grad:`", "without the brackets it raises a TypeError", 7),
    Claim("c1.1", "a block that runs under no_grad gives outputs that do not require grad",
          "checkpoint's outputs require grad", 10),
    Claim("c1.2", "all segments of checkpoint_sequential but the last run under no_grad",
          "with use_reentrant=False every segment runs with recording on", 10),
    Claim("c1.3", "if the input does not require grad, the output does not",
          "with use_reentrant=False it does as soon as a parameter of the block does", 10),
    Claim("c1.4", "the output requires grad because checkpoint is an autograd.Function",
          "with use_reentrant=False its grad_fn is the block's own last node", 10),
    Claim("c2.1", "a tensor has an attribute require_grad",
          "it is requires_grad; setting the other name raises no error and changes nothing", 2),
    Claim("c2.2", "a graph is made of two kinds of things, tensors and operations",
          "of nodes only: a result may be gone, and the graph is whole", 3),
    Claim("c2.3", "a leaf is a tensor that a user made", "an operation on data that needs no gradient gives a leaf", 1),
    Claim("c2.4", "next_functions make a linked list", "a node may have several pairs, and two pairs one node", 3),
    Claim("c2.5", "the integer is the index of the argument", "it says which output of the node in the pair it was", 3),
    Claim("c2.6", "exp leaves a node named ExpBackward", "ExpBackward0", 3),
    Claim("c2.7", "backward() without an argument is for scalars only", "any tensor with one number may call it", 4),
    Claim("c2.8", "backward() destroys the graph, so a second call needs retain_graph=True",
          "it frees saved values: where nothing was saved, a second call runs, and the nodes stay in any case", 4),
    Claim("c2.9", "autograd.grad has allow_unused=False, and backward has no inputs=",
          "allow_unused is None, so that materialize_grads=True can mean yes; backward has inputs=", 4),
    Claim("c2.10", "to call the nodes by hand is equal to backward()",
          "the numbers are; but the .grad that is left has a grad_fn, unless one calls under no_grad", 3),
    Claim("c3.1", "retains_grad is False for every leaf", "after retain_grad() and then detach_() a leaf says True", 2),
    Claim("c3.2", "retain_grad() on a non-leaf does nothing",
          "it makes retains_grad True, and backward then keeps the gradient in .grad", 6),
    Claim("c3.3", "requires_grad_() on a non-leaf does nothing", "with False it raises a RuntimeError", 2),
    Claim("c3.4", "retain_grad() on a leaf that does not require grad does nothing", "it raises a RuntimeError", 2),
    Claim("c3.5", "four states of a tensor are all that there are",
          "a leaf that does not require grad and retains it is a fifth", 2),
    Claim("c3.6", "a leaf requires grad only if somebody set it so",
          "a view made under no_grad is a leaf that takes the flag over", 7),
    Claim("c3.7", "a result requires grad if one of its inputs does; parameters and no_grad are the only exceptions",
          "comparisons, argmax and detach() give results that do not", 2),
    Claim("c3.8", "an operation with an input that requires grad gives a non-leaf",
          "detach() gives a leaf, and so does every operation under no_grad", 1),
    Claim("c3.9", "backward() fills the .grad of all leaves that require grad",
          "of those that it reaches; the others keep None", 4),
    Claim("c3.10", "the graph records inputs and intermediate tensors",
          "it holds nodes, and the few values that their formulas need; data that needs no gradient is not in it", 3),
    Claim("c4.1", "grad_fn is a torch.autograd.Function", "it is a torch.autograd.graph.Node, and no Function", 3),
    Claim("c4.2", "grad_fn saves all inputs", "it saves what its formula needs: a sum needs nothing", 3),
    Claim("c4.3", "only a non-leaf may call backward()", "a leaf with one number that requires grad may", 4),
    Claim("c4.4", "only leaves get a .grad", "so does a result that was named in backward(inputs=)", 6),
    Claim("c4.5", "the warning at .grad of a non-leaf speaks of “the gradient for a non-leaf Tensor”",
          "in PyTorch 2.13 the warning is worded differently", 6),
    Claim("c4.6", "under no_grad it is as if nothing required grad",
          "a view still says True, and so does a tensor made with requires_grad=True", 7),
    Claim("c4.7", "under no_grad one cannot call backward()", "on a graph that was recorded before, one can", 7),
    Claim("c4.8", "retain_grad() needs a non-leaf", "on a leaf that requires grad it does nothing, with no error", 6),
    Claim("c4.9", "where grad_outputs is None, ones are used",
          "for a result with one number; for more it raises a RuntimeError", 4),
    Claim("c4.10", "create_graph keeps the graph, and so higher derivatives are possible",
          "to keep it is retain_graph, and not enough; create_graph records the backward pass", 4),
    Claim("c4.11", "x + 1 and x.cuda() leave a node CopyBackwards",
          "AddBackward0; and a move to a device or dtype leaves ToCopyBackward0", 8),
    Claim("c4.12", "a linear layer leaves a node AddmmBackward", "AddmmBackward0", 11),
    Claim("c4.13", "nn.L1Loss(y, target) is the loss, and leaves a node L1LossBackward",
          "this call raises a RuntimeError; nn.L1Loss()(y, target) leaves MeanBackward0", 11),
)}

ANSWERS, CONTRADICTS = "answers:", "contradicts:"

# The questions and claims that still wait for their cell. A test holds this list to the notebooks.
OPEN: tuple[str, ...] = ()
