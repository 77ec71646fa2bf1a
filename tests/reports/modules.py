"""Reports about modules: what they hold, load, hook and refuse."""

from __future__ import annotations

from tests.reports.report import Reports

reports = Reports()


@reports("pytorch/pytorch/issues/156051", "batch norm without statistics refuses one row in evaluation as in training",
         still="without statistics those of the batch are needed, in every mode")
def one_row_without_statistics(m):
    return m.nn.BatchNorm1d(3, track_running_stats=False).eval()(m.ones(1, 3))


@reports("pytorch/pytorch/issues/180968", "`init` of a weight that is computed changes nothing and says nothing",
         still="the weight is made anew at each access; what was changed is dropped")
def init_of_a_computed_weight(m):
    layer = m.nn.utils.parametrizations.weight_norm(m.nn.Linear(2, 3))
    before = layer.weight.detach().clone()
    with m.no_grad():
        filled = m.nn.init.constant_(layer.weight, 7.0)
    return m.allclose(before, layer.weight), filled.unique()


@reports("kvcache-ai/ktransformers/issues/1870", "`functional_call` refuses two values for names that share a tensor")
def two_values_for_tied_names(m):
    net = m.nn.Module()
    net.inner, net.outer = m.nn.Linear(1, 1), m.nn.Linear(1, 1)
    net.outer.weight = net.inner.weight
    net.forward = lambda x: net.outer(net.inner(x))
    given = {"inner.weight": m.ones(1, 1), "outer.weight": 2 * m.ones(1, 1)}
    free = m.func.functional_call(net, given | {"inner.bias": m.zeros(1), "outer.bias": m.zeros(1)}, m.ones(1, 1),
                                  tie_weights=False)
    try:
        m.func.functional_call(net, given, m.ones(1, 1))
    except ValueError as error:
        return free.detach(), str(error)


@reports("pytorch/pytorch/issues/154597", "`strict=False` still raises where a shape is another one",
         still="`strict` is about names alone")
def other_shape_with_strict_off(m):
    m.nn.Linear(3, 2).load_state_dict({"weight": m.zeros(2, 4)}, strict=False)


@reports("NVIDIA-NeMo/Megatron-Bridge/pull/6032", "loading again with `strict=False` hid that names were missing")
def missing_and_unexpected_names(m):
    net = m.nn.Sequential(m.nn.Linear(1, 1), m.nn.Linear(1, 1))
    state = {"0.weight": m.ones(1, 1), "0.bias": m.ones(1), "1.wieght": m.ones(1, 1)}
    found = [net.load_state_dict(state, strict=False)]
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        found.append(str(error))
    return found


@reports("braindecode/braindecode/pull/1026", "to load all but a new head, shapes must be filtered before")
def all_but_a_new_head(m):
    net = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Linear(2, 3))
    state = {name: m.full_like(value, 5.0) for name, value in net.state_dict().items()}
    state["1.weight"] = m.zeros(7, 2)
    own = net.state_dict()
    fitting = {name: value for name, value in state.items() if value.shape == own[name].shape}
    result = net.load_state_dict(fitting, strict=False)
    return result.missing_keys, result.unexpected_keys, net[0].weight, net[1].bias


@reports("huggingface/transformers/pull/47722", "a `Buffer` that is assigned is registered, and persistent by default")
def buffers_by_assignment(m):
    net = m.nn.Module()
    net.kept, net.dropped = m.nn.Buffer(m.ones(2)), m.nn.Buffer(m.zeros(1), persistent=False)
    net.kept = m.full((2,), 3.0)
    return list(net.state_dict()), [name for name, _ in net.named_buffers()], net.kept, isinstance(net.kept,
                                                                                                  m.nn.Buffer)


@reports("pytorch/pytorch/pull/189354", "a pre-hook alone is warned of as if it were a full backward hook",
         still="the warning comes wherever no input requires grad")
def pre_hook_without_gradients_of_inputs(m):
    net, seen = m.nn.Linear(2, 1, bias=False), []
    net.register_full_backward_pre_hook(lambda module, grads: seen.append(grads[0].tolist()))
    net(m.ones(1, 2)).sum().backward()
    return seen


@reports("pytorch/pytorch/pull/189652", "and the same for a full hook beside it, which is right to be warned of")
def both_hooks_without_gradients_of_inputs(m):
    net, seen = m.nn.Linear(2, 1, bias=False), []
    net.register_full_backward_pre_hook(lambda module, grads: seen.append("pre"))
    net.register_full_backward_hook(lambda module, inputs, grads: seen.append([inputs, grads[0].tolist()]))
    net(m.ones(1, 2)).sum().backward()
    return seen


@reports("pytorch/pytorch/issues/143573", "a forward hook ran in the backward pass: the module was under a checkpoint")
def hooks_under_a_checkpoint(m):
    net, seen = m.nn.Linear(2, 2), []
    net.register_forward_pre_hook(lambda *_: seen.append("forward pre"))
    net.register_forward_hook(lambda *_: seen.append("forward"))
    net.register_full_backward_pre_hook(lambda *_: seen.append("backward pre"))
    net.register_full_backward_hook(lambda *_: seen.append("backward"))
    for reentrant in (False, True):
        x = m.ones(1, 2, requires_grad=True)
        m.utils.checkpoint.checkpoint(net, x, use_reentrant=reentrant).sin().sum().backward()
        seen.append("---")
    return seen


@reports("pytorch/pytorch/issues/153281", "`rrelu` in training raised an unclear error for an infinite slope")
def infinite_slope(m):
    x = m.tensor([-1.0])
    found = [m.nn.functional.rrelu(x, 0, float("inf"), training=False)]
    try:
        m.nn.functional.rrelu(x, 0, float("inf"), training=True)
    except RuntimeError as error:
        found.append(str(error)[:40])
    return found


@reports("google/torchax/pull/11", "the row of an embedding that stands for padding got a gradient")
def row_of_padding(m):
    rows = m.nn.Embedding(3, 2, padding_idx=1)
    given = m.nn.functional.embedding(m.tensor([0, 1, -2, 2]), rows.weight, padding_idx=-2)
    (rows(m.tensor([0, 1, 1, 2])).sum() + 2 * given.sum()).backward()
    return rows.weight.grad, rows.weight[1].detach()
