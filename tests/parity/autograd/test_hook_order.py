"""When hooks are called and what they see, against PyTorch: their order, removal, undefined gradients, `inputs`. Both
libraries run the same program and must come to the same."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.leaves import leaf
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch
PROGRAMS = Programs()


def shown(grads):
    """Gradients as a hook got them."""
    return [None if g is None else g.tolist() for g in grads]


def watch(log, node, name):
    """Write down what the hooks of a node get."""
    node.register_prehook(lambda gs: log.append((name, "pre", shown(gs))))
    node.register_hook(lambda gi, go: log.append((name, "post", shown(gi), shown(go))))


@PROGRAMS
def order_at_a_tensor(m):
    log = []
    x = leaf(m, 2)
    y = x * 3
    watch(log, y.grad_fn, "y")
    y.register_hook(lambda g: log.append("first"))
    y.retain_grad()
    y.register_hook(lambda g: (log.append(("second", y.retains_grad)), g * 2)[1])
    y.grad_fn.register_prehook(lambda gs: log.append(("grad", y.grad.tolist())))
    x.register_hook(lambda g: log.append("x"))
    y.sum().backward()
    return log, y.grad, x.grad


@PROGRAMS
def order_at_two_outputs(m):
    log = []
    a, b = m.arange(4.0).requires_grad_().chunk(2)
    b.register_hook(lambda g: log.append("b 1"))
    a.register_hook(lambda g: log.append(("a 1", g)))
    b.register_hook(lambda g: log.append("b 2"))
    b.retain_grad()
    a.retain_grad()
    watch(log, b.grad_fn, "chunk")
    b.sum().backward()
    return log, a.grad, b.grad


@PROGRAMS
def an_output_without_a_gradient_cannot_get_one(m):
    _, b = m.arange(4.0).requires_grad_().chunk(2)
    b.grad_fn.register_prehook(lambda gs: (m.ones(2), None))
    b.sum().backward()


@PROGRAMS
def a_tensor_hook_cannot_replace_none(m):
    a, b = m.arange(4.0).requires_grad_().chunk(2)
    a.register_hook(lambda g: m.ones(2))
    b.sum().backward()


@PROGRAMS
def a_pre_hook_may_take_all_gradients_away(m):
    x = m.arange(4.0).requires_grad_()
    _, b = x.chunk(2)
    b.grad_fn.register_prehook(lambda gs: (None, None))
    b.sum().backward()
    return x.grad


@PROGRAMS
def nothing_arrives(m):
    """A Function that returns None: every hook below it is called with None."""
    class Stop(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    log = []
    x = leaf(m, 2)
    y = x * 3
    z = y.exp()
    accumulator = y.grad_fn.next_functions[0][0]
    for name, node in (("x", accumulator), ("y", y.grad_fn), ("z", z.grad_fn)):
        watch(log, node, name)
    z.register_hook(lambda g: log.append(("z", g)))
    z.retain_grad()
    x.register_hook(lambda g: log.append(("x", g)))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p.grad)))
    Stop.apply(z).sum().backward()
    return log, z.grad, x.grad


@PROGRAMS
def hooks_of_one_node_get_the_same_tensors(m):
    seen = []
    x = leaf(m, 2)
    y = x * 3
    y.register_hook(lambda g: seen.append(g))
    y.register_hook(lambda g: seen.append(g))
    y.grad_fn.register_prehook(lambda gs: seen.append(gs[0]))
    y.grad_fn.register_hook(lambda gi, go: seen.append(go[0]))
    y.sum().backward()
    return [each is seen[0] for each in seen]


@PROGRAMS
def removal(m):
    log = []
    x = leaf(m, 2)
    y = x * 2

    def first(g):
        log.append("first")
        later.remove()
        before.remove()
        after.remove()

    y.register_hook(first)
    later = y.register_hook(lambda g: log.append("later"))
    before = y.grad_fn.register_prehook(lambda gs: log.append("before"))
    after = y.grad_fn.register_hook(lambda gi, go: log.append("after"))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return log


@PROGRAMS
def a_hook_that_removes_itself(m):
    x = leaf(m, 2)
    x.register_hook(lambda g: g * 2)
    handle = x.register_hook(lambda g: (handle.remove(), g * 10)[1])
    for _ in range(2):
        x.sum().backward()
    return x.grad


@PROGRAMS
def registered_while_the_pass_runs(m):
    log = []
    x = leaf(m, 2)
    y = x * 2
    z = y.exp()

    def register(g):
        log.append("z")
        if len(log) == 1:
            z.register_hook(lambda g: log.append("z again"))
            watch(log, z.grad_fn, "z node")
            y.register_hook(lambda g: log.append("y"))
            y.retain_grad()
            x.register_hook(lambda g: log.append("x"))
            x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))

    z.register_hook(register)
    z.sum().backward(retain_graph=True)
    log.append(y.grad)
    z.sum().backward()
    return log, x.grad


@PROGRAMS
def a_hook_that_looks_at_the_graph(m):
    log = []
    x = leaf(m, 2)
    y = x * m.ones(2)
    z = y.exp()
    z.register_hook(lambda g: log.append([node and node.name() for node, _ in y.grad_fn.next_functions]))
    z.sum().backward()
    return log, x.grad


@PROGRAMS
def a_hook_that_hangs_a_hook_on_an_accumulator(m):
    log = []
    x = leaf(m, 2)
    y = x * m.ones(2)
    z = y.exp()
    z.register_hook(lambda g: watch(log, y.grad_fn.next_functions[0][0], "x"))
    z.sum().backward()
    return log, x.grad


def pruned(name, op, shape=(2,)):
    """What the hooks of a node see where only its second input is wanted."""
    def program(m):
        log = []
        x, w = leaf(m, *shape), leaf(m, *shape)
        y = op(m, x, w)
        watch(log, y.grad_fn, name)
        y.sum().backward(inputs=[w])
        m.autograd.grad(op(m, x, w).sum(), w)
        return log, x.grad, w.grad

    PROGRAMS[f"inputs: {name}"] = program


pruned("mul", lambda m, x, w: x * w)
pruned("add", lambda m, x, w: x + w)
pruned("div", lambda m, x, w: x / w)
pruned("pow", lambda m, x, w: x**w)
pruned("broadcast", lambda m, x, w: x * w[0])
pruned("matmul", lambda m, x, w: x @ w, (2, 2))
pruned("where", lambda m, x, w: m.where(x > 0, x, w))
pruned("stack", lambda m, x, w: m.stack([x, w]))
pruned("cat", lambda m, x, w: m.cat([x, w]))


@PROGRAMS
def inputs_and_a_function(m):
    class Product(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            log.append(ctx.needs_input_grad)
            x, w = ctx.saved_tensors
            return g * w, g * x

    log = []
    x, w = leaf(m, 2), leaf(m, 2)
    y = Product.apply(x, w)
    watch(log, y.grad_fn, "product")
    y.sum().backward(inputs=[w])
    return log, x.grad, w.grad


def seen_by_hooks(m, wanted, by_grad):
    """A pass with `inputs`; what all hooks have seen, and all `.grad`s."""
    log = []
    x = leaf(m, 2)
    y = x * 3
    z = y.exp()
    for name, node in (("x", y.grad_fn.next_functions[0][0]), ("y", y.grad_fn), ("z", z.grad_fn)):
        watch(log, node, name)
    for name, each in (("x", x), ("y", y), ("z", z)):
        each.register_hook(lambda g, name=name: (log.append(name), g * 2)[1])
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    root, inputs = z.sum(), wanted(m, x, y, z)
    found = m.autograd.grad(root, inputs, allow_unused=True) if by_grad else root.backward(inputs=inputs)
    return log, found, [(each.retains_grad, each.grad) for each in (x, y, z)]


def around(wanted):
    """The same by `backward` and by `grad`."""
    return lambda m: (seen_by_hooks(m, wanted, False), seen_by_hooks(m, wanted, True))


PROGRAMS["hooks with inputs: x"] = around(lambda m, x, y, z: [x])
PROGRAMS["hooks with inputs: y"] = around(lambda m, x, y, z: [y])
PROGRAMS["hooks with inputs: x, y"] = around(lambda m, x, y, z: [x, y])
PROGRAMS["hooks with inputs: z, x"] = around(lambda m, x, y, z: [z, x])
PROGRAMS["hooks with inputs: z"] = around(lambda m, x, y, z: z)
PROGRAMS["hooks with inputs: one that is not there"] = around(lambda m, x, y, z: [leaf(m, 1)])
PROGRAMS["hooks with inputs: edges"] = around(
    lambda m, x, y, z: [m.autograd.graph.get_gradient_edge(each) for each in (x, y)])


@PROGRAMS
def hooks_of_a_root_that_leads_nowhere(m):
    log = []
    x = leaf(m, 2)
    for root in (x * 3, leaf(m, 2)):
        root.register_hook(lambda g: log.append(g.tolist()))
        root.backward(m.ones(2), inputs=[leaf(m, 1)])
        m.autograd.grad(root, leaf(m, 1), m.ones(2), allow_unused=True)
        m.autograd.backward([root, root], [m.ones(2), m.ones(2)], inputs=[leaf(m, 1)])
    return log, x.grad


@PROGRAMS
def retained_gradients_are_new_tensors(m):
    x = leaf(m, 2)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    first = y.grad
    y.sum().backward(retain_graph=True)
    m.autograd.grad(y.sum(), x)
    return y.grad is first, first, y.grad, y.grad._version


@PROGRAMS
def the_gradient_that_retain_grad_keeps(m):
    x = leaf(m, 2)
    y = x * x
    y.retain_grad()
    (g,) = m.autograd.grad((y * y).sum(), x, create_graph=True)
    return y.grad, g


@PROGRAMS
def hooks_on_a_view_whose_base_was_written_to(m):
    log, results = [], []
    for before in (0, 1):
        base = leaf(m, 3) * 1
        with m.no_grad():
            view = base[:2]
        for hook in range(before + 3):
            if hook == before:
                base.mul_(2)
            try:
                view.register_hook(lambda g: log.append(g.tolist()))
                results.append("hung")
            except RuntimeError as error:
                results.append(str(error))
        base.sum().backward()
        results.append(len(view._backward_hooks))
    return results, log


@pytest.mark.parametrize("name", PROGRAMS)
def test_same(torch, name):
    assert outcome(PROGRAMS[name], minigrad) == outcome(PROGRAMS[name], torch)
