"""Reports about passes, graphs and derivatives of any order."""

from __future__ import annotations

from typing import Any

from tests.reports.report import Reports

reports = Reports()


def grads(m: Any, function: Any, *leaves: Any) -> list[Any]:
    """The gradients of the sum of what a function makes of fresh copies of the leaves."""
    own = [each.detach().clone().requires_grad_() for each in leaves]
    function(*own).sum().backward()
    return [each.grad for each in own]


def second(m: Any, function: Any, x: Any) -> list[Any]:
    """The value, the derivative and the second derivative of a function at a number."""
    value = function(x)
    first, = m.autograd.grad(value, x, create_graph=True)
    return [value.detach(), first.detach(), m.autograd.grad(first, x)[0]]


@reports("pytorch/pytorch/issues/150883", "`backward(inputs=x)` failed where x is one number and not a list")
def one_number_as_inputs(m):
    x, other = m.tensor(3.0, requires_grad=True), m.tensor(2.0, requires_grad=True)
    (x * x * other).backward(inputs=x, retain_graph=True)
    m.autograd.backward([x * other], inputs=x)
    return x.grad, other.grad


@reports("SimplexLab/TorchJD/issues/489", "the release notes call `backward` with `grad_outputs`, as `grad` has it")
def backward_takes_grad_tensors(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    losses = [x.sum(), (x * x).sum()]
    try:
        m.autograd.backward(losses, grad_outputs=[m.tensor(1.0), m.tensor(2.0)])
        refused = False
    except TypeError:
        refused = True
    m.autograd.backward(losses, grad_tensors=[m.tensor(1.0), m.tensor(2.0)])
    return refused, x.grad


@reports("pytorch/pytorch/issues/184575", "the gradient of `normalize` at the zero vector is 1e12 and not NaN",
         still="the norm is clamped at `eps`, so that the value is 0 and the gradient 1 / eps")
def normalize_at_zero(m):
    x = m.zeros(3, requires_grad=True)
    y = m.nn.functional.normalize(x, dim=0)
    y.sum().backward()
    return y, x.grad


@reports("pytorch/pytorch/issues/181581", "gradients made with `create_graph=True` lost their graph for products")
def gradients_keep_their_graph(m):
    a, b = m.tensor([[1.0, -2.0]], requires_grad=True), m.tensor([[0.5], [3.0]], requires_grad=True)
    bias = m.tensor([[0.1]], requires_grad=True)
    made = {"mm": a.mm(b), "matmul": m.matmul(a, b), "addmm": m.addmm(bias, a, b), "relu": a.relu().mm(b),
            "leaky_relu": m.nn.functional.leaky_relu(a, 0.1).mm(b)}
    found = {}
    for name, y in made.items():
        first, = m.autograd.grad(y.sum() ** 2, a, create_graph=True)
        other, = m.autograd.grad((first ** 2).sum(), b)
        found[name] = [first.detach(), first.requires_grad, first.grad_fn is not None, other]
    return found


@reports("pytorch/pytorch/issues/196703", "the second derivative of `sinc` at 0 is NaN, and should be -π²/3",
         still="its formula divides by the argument")
def second_derivative_of_sinc(m):
    t = m.tensor(-0.5, dtype=m.float64, requires_grad=True)
    return second(m, lambda t: m.sinc(m.stack((t, 2 * t + 1))).sum(), t)


@reports("pytorch/pytorch/issues/196704", "the second derivative of `logaddexp` is NaN where the numbers lie far apart",
         still="the derivative of the weights overflows before it is multiplied by 0")
def second_derivative_of_logaddexp(m):
    t = m.tensor(-800.0, dtype=m.float64, requires_grad=True)
    return second(m, lambda t: m.logaddexp(m.stack((t, -2 * t)), m.stack((t / 2, 3 - t))).sum(), t)


@reports("pytorch/pytorch/issues/193012", "the Hessian of `prod` overflows in float16, though its entries are ordinary",
         still="the formula divides by an element before it multiplies by the others")
def hessian_of_a_product_in_half(m):
    x = m.tensor([0.03, 1.0, 1.0, 1.0], dtype=m.float16)
    f = lambda x: 4000.0 * m.prod(x)  # noqa: E731 (a formula)
    return m.autograd.functional.hessian(f, x)[0].tolist()[2:], m.func.jacrev(f)(x).tolist()[1:]


@reports("pytorch/pytorch/issues/192521", "second derivatives of `det` were NaN where singular values lie together",
         differs="2.13 still gives NaN under `func`; minigrad computes them as it does outside, where both are right")
def second_derivative_of_det(m):
    x = m.eye(3, dtype=m.float64) * 2
    hessian = m.func.hessian(m.linalg.det)(x)
    eager = m.autograd.functional.hessian(m.linalg.det, x)
    return hessian[0, 0].tolist(), m.allclose(hessian, eager)


@reports("pytorch/pytorch/issues/151884", "a compiled `expand_as` gave the tensor that lends its shape a gradient")
def expand_as_needs_no_values(m):
    x, shape = m.ones(1, 3, requires_grad=True), m.ones(2, 3, requires_grad=True)
    x.expand_as(shape).sum().backward()
    return x.grad, shape.grad


@reports("pytorch/pytorch/issues/145356", "a loss of `func.jvp` had other gradients than one of `functional.jvp`")
def gradients_through_jvp(m):
    net = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.Tanh(), m.nn.Linear(3, 1)).double()
    for i, p in enumerate(net.parameters()):
        p.data = m.arange(p.numel()).reshape(p.shape).double() / 5 - 0.3 * i
    x, u = m.tensor([[0.5, -1.0]]).double(), m.tensor([[1.0, 2.0]]).double()
    found = []
    for jvp in (lambda: m.autograd.functional.jvp(net, x, u, create_graph=True)[1],
                lambda: m.func.jvp(net, (x,), (u,))[1]):
        net.zero_grad()
        (jvp() ** 2).sum().backward()
        found.append([p.grad.tolist() for p in net[0].parameters()])
    return found


@reports("pytorch/pytorch/issues/145262", "whether `func.jvp` can be differentiated, as it has no `create_graph`")
def second_order_without_create_graph(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    _, slope = m.func.jvp(lambda x: (x ** 3).sum(), (x,), (m.ones(2),))
    slope.backward()
    return slope, x.grad


@reports("pytorch/pytorch/pull/189423", "`no_grad` does not stop a tangent, while it stops a gradient")
def no_grad_and_tangents(m):
    def partly(x):
        with m.no_grad():
            fixed = x ** 2
        return (x + fixed).sum()

    x = m.tensor([1.0, 3.0])
    return m.func.jacfwd(partly)(x), m.func.jacrev(partly)(x)


@reports("pytorch/pytorch/issues/163567", "a chain of std, min, norm and relu had a backward pass in one mode only")
def chain_of_reductions(m):
    m.manual_seed(3)
    x, w = m.randn(4, requires_grad=True), m.randn(3, 4, requires_grad=True)
    cube = m.randn(5, 2, 3, requires_grad=True)
    root = m.sqrt(m.nn.functional.linear(x, w).abs())
    low = cube.std(dim=0).min(dim=0).values
    (root * low + w.T.norm(dim=0)).relu().sum().backward()
    return x.grad, w.grad, cube.grad


@reports("benedekrozemberczki/pytorch_geometric_temporal/issues/305",
         "a state that lives on in the module makes the next pass go through the graph of the one before")
def state_that_keeps_its_graph(m):
    weight, state, passes = m.tensor(0.5, requires_grad=True), m.tensor(1.0), 0
    try:
        for _ in range(3):
            state = (weight * state).tanh()
            state.backward()
            passes += 1
    except RuntimeError as error:
        return passes, str(error).split(". ")[0]


@reports("unslothai/unsloth/issues/3476", "two losses share a part of the graph that the first pass has freed")
def two_losses_of_one_trunk(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    trunk = x.exp()
    (trunk * 2).sum().backward()
    try:
        (trunk * 3).sum().backward()
    except RuntimeError as error:
        return str(error).split(". ")[0], x.grad


@reports("keras-team/keras/issues/23075", "clamping after `rsqrt` mends the value at zero, but not the gradient")
def clamp_before_or_after(m):
    def after(x):
        return x * m.minimum(m.rsqrt((x * x).sum()), m.tensor(1e6))

    def before(x):
        return x / m.linalg.norm(x).clamp(min=1e-6)

    return grads(m, after, m.zeros(3)), grads(m, before, m.zeros(3))


@reports("MakazhanAlpamys/Soup/issues/719", "the gradient of `kl_div` by its target is not finite where that is 0")
def divergence_of_what_underflows(m):
    logits = m.tensor([0.0, -200.0], requires_grad=True)
    teacher = m.tensor([0.0, -1.0]).log_softmax(0)
    loss = m.nn.functional.kl_div(teacher, logits.softmax(0), reduction="sum")
    loss.backward()
    return loss, logits.grad


@reports("huggingface/trl/pull/7251", "the entropy of logits with -inf is NaN, where `Categorical` says 0 for them")
def entropy_of_masked_logits(m):
    logits = m.tensor([[1.0, float("-inf"), 2.0]], requires_grad=True)
    logs = logits.log_softmax(-1)
    plain = -(logs.exp() * logs).sum(-1)
    theirs = m.distributions.Categorical(logits=logits.detach()).entropy()
    return plain, theirs


@reports("huggingface/trl/pull/7252", "`nan_to_num` mends the entropy, and its gradient stays NaN")
def nan_to_num_hides_no_gradient(m):
    logits = m.tensor([[1.0, float("-inf"), 2.0]], requires_grad=True)
    logs = logits.log_softmax(-1)
    entropy = -(logs.exp() * logs).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0).sum(-1)
    entropy.sum().backward()
    return entropy, logits.grad


@reports("pytorch/pytorch/issues/144279", "the divergence of Uniform(0, 1) from Beta(1, 1) was NaN, and is 0")
def divergence_of_the_same(m):
    d = m.distributions
    return d.kl_divergence(d.Uniform(0, 1), d.Beta(1, 1)), d.kl_divergence(d.Uniform(0, 1), d.Uniform(0, 1))


@reports("intel/torch-xpu-ops/issues/3099", "`gradcheck` of `cdist` failed on another device")
def gradcheck_of_cdist(m):
    m.manual_seed(0)
    a, b = (m.randn(n, 2, dtype=m.float64, requires_grad=True) for n in (3, 2))
    return m.autograd.gradcheck(m.cdist, (a, b)), m.autograd.gradgradcheck(m.cdist, (a, b))


@reports("pytorch/pytorch/issues/153957", "the gradient of the first of two layers was wrong, and the second's right")
def first_of_two_layers(m):
    m.manual_seed(123)
    net = m.nn.Sequential(m.nn.Linear(8, 8, bias=False), m.nn.Linear(8, 50, bias=False))
    (net(m.randn(1, 4, 8)) - m.randn(1, 4, 50)).sum().backward()
    return [p.grad for p in net.parameters()]


@reports("pytorch/pytorch/issues/177116", "gradients were wrong in the second pass, with a batch of another size")
def another_batch_size(m):
    m.manual_seed(0)
    net = m.nn.Sequential(m.nn.Embedding(7, 4), m.nn.Linear(4, 4), m.nn.ReLU(), m.nn.Linear(4, 7))
    found = []
    for size in (3, 5, 3):
        net.zero_grad()
        words = m.arange(size * 2).reshape(size, 2) % 7
        m.nn.functional.cross_entropy(net(words).flatten(0, 1), words.flatten()).backward()
        found.append([p.grad.norm().item() for p in net.parameters()])
    return found, found[0] == found[2]


@reports("pytorch/pytorch/issues/180201", "the gradient of a sum was zero in most rows; with given ones it was right")
def sum_or_given_ones(m):
    m.manual_seed(123)
    x, w, v = m.randn(6, 3, requires_grad=True), m.randn(4, 3), m.randn(1, 4)
    y = (m.sin(x @ w.T) @ v.T).squeeze(-1)
    by_sum, = m.autograd.grad(y.sum(), x, retain_graph=True)
    by_ones, = m.autograd.grad(y, x, grad_outputs=m.ones_like(y))
    return by_sum, m.equal(by_sum, by_ones)


@reports("pytorch/pytorch/issues/197636", "the gradients of `bmm` were wrong in the last batches of many")
def gradients_of_bmm(m):
    a, b = m.arange(24.0).reshape(4, 2, 3) / 7, m.arange(24.0).reshape(4, 3, 2) / 5
    weights = m.arange(16.0).reshape(4, 2, 2)
    found = grads(m, lambda a, b: m.bmm(a, b) * weights, a, b)
    return [each[-1] for each in found], m.allclose(found[0], weights @ b.mT)


@reports("pytorch/pytorch/issues/179804", "a backward pass forgot that autocast was off in an inner block")
def autocast_off_inside(m):
    weight, x = m.full((2, 2), 1 / 3, requires_grad=True), m.tensor([[1.0, 1e-3]])
    with m.autocast("cpu", dtype=m.bfloat16):
        with m.autocast("cpu", enabled=False):
            inner = x.float() @ weight.T
        outer = x @ weight.T
    inner.sum().backward()
    return inner, outer.dtype == m.bfloat16, weight.grad


@reports("pytorch/pytorch/issues/167843", "where `setup_context` is defined, `forward` has no context to save to")
def forward_without_a_context(m):
    class Scaled(m.autograd.Function):
        @staticmethod
        def forward(x):
            factor = x.abs().max()
            return x / factor, factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_non_differentiable(output[1])
            ctx.save_for_backward(output[1])

        @staticmethod
        def backward(ctx, g, _):
            factor, = ctx.saved_tensors
            return g / factor

    x = m.tensor([1.0, -4.0], requires_grad=True)
    y, factor = Scaled.apply(x)
    y.sum().backward()
    return y, factor, x.grad


@reports("vasqu/mamba2-torch/pull/9", "a Function needs `setup_context` and a rule for `vmap` to be mapped")
def function_under_vmap(m):
    class Old(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class New(Old):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    x = m.arange(3.0)
    found = [m.func.vmap(m.func.grad(New.apply))(x)]
    try:
        m.func.vmap(m.func.grad(Old.apply))(x)
    except RuntimeError as error:
        found.append(str(error).split(". ")[0][:60])
    return found


@reports("pytorch/pytorch/issues/154820", "a Function's writes in forward and backward happened in another order")
def writes_of_a_function(m):
    seen = []

    class Counting(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, counter):
            counter.add_(1)
            ctx.counter = counter
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            ctx.counter.add_(10)
            return g, None

    counter, x = m.zeros(1), m.ones(2, requires_grad=True)
    y = Counting.apply(x, counter)
    seen.append(counter.item())
    y.sum().backward()
    return [*seen, counter.item()]


@reports("pytorch/pytorch/pull/194534", "what a Function returns as it came cannot be written to")
def input_returned_as_is(m):
    class Same(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = m.ones(2, requires_grad=True)
    y = Same.apply(x * 1)
    y.mul_(2)
    y.sum().backward()
    return x.grad


@reports("pytorch/pytorch/pull/149543", "`mark_dirty` of a view of something made inside gave an unclear error")
def dirty_view_of_an_intermediate(m):
    class Inside(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            made = x.clone().view(-1)
            made.add_(1)
            ctx.mark_dirty(made)
            return made

        @staticmethod
        def backward(ctx, g):
            return g

    return Inside.apply(m.ones(2, requires_grad=True))


@reports("pytorch/pytorch/pull/153094", "a Function that writes to a view of a leaf was not refused")
def function_that_writes_to_a_view(m):
    class Doubled(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    leaf = m.ones(4, requires_grad=True)
    with m.no_grad():
        part = leaf[:2]
    return Doubled.apply(part)


@reports("pytorch/pytorch/issues/176854", "`detach_` was dropped, so that what follows still required grad")
def detached_in_place(m):
    def partly(x):
        y = x * 2.0
        y.detach_()
        return y + 1.0, y.requires_grad, y.is_leaf

    return partly(m.ones(2, requires_grad=True)), m.compile(partly, backend="eager")(m.ones(2, requires_grad=True))


@reports("pytorch/pytorch/issues/158561", "`copy_` into a slice raised about gradients that nobody wanted")
def copy_without_gradients(m):
    def write(cache, new):
        cache[:, :2].copy_(new)
        return cache.sum()

    cache, new = m.zeros(1, 4), m.ones(1, 2)
    return m.compile(write, backend="eager")(cache, new), cache
