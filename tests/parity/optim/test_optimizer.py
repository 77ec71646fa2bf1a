"""optim.Optimizer: groups, states, hooks, printed text, errors and warnings as PyTorch's."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle

import pytest

import minigrad
from tests.parity.alike import alike

pytestmark = pytest.mark.torch
NAMES = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD", "LBFGS")


def base(m):
    """`torch.optim.optimizer`, which PyTorch takes off `torch.optim` again."""
    return importlib.import_module(f"{m.__name__}.optim.optimizer")


def leaf(m, *values):
    """A parameter."""
    return m.tensor(values or [1.0, -2.0], requires_grad=True)


def stepped(m, name="Adam", params=None, steps=2, **options):
    """An optimiser after some steps with the same gradients."""
    params = [leaf(m), leaf(m, 3.0)] if params is None else params
    optimizer = getattr(m.optim, name)(params, **options)
    for _ in range(steps):
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad = m.full_like(p, 0.5)
        optimizer.step()
    return optimizer


def flat(value):
    """A state without dicts: lists of pairs."""
    if isinstance(value, dict):
        return [[key, flat(each)] for key, each in value.items()]
    return [flat(each) for each in value] if isinstance(value, (list, tuple)) else value


def state_of(optimizer):
    """Its state dict."""
    return flat(optimizer.state_dict())


def loaded(m, change, name="Adam", **options):
    """An optimiser that has loaded a changed state of another one."""
    state = stepped(m, name, **options).state_dict()
    new = stepped(m, name, steps=1)
    changed = change(state)
    new.load_state_dict(state if changed is None else changed)
    return state_of(new), type(new.state).__name__, new


def hooked(m):
    """What hooks of all kinds are told, in their order."""
    told, p = [], leaf(m)
    o = m.optim.SGD([p], lr=0.1)
    other = m.optim.SGD([leaf(m)], lr=0.1)
    note = lambda name, result=None: lambda *args: told.append(  # noqa: E731 (a table of hooks)
        (name, args[0] is o, [type(a).__name__ for a in args[1:]])) or result
    handles = [
        base(m).register_optimizer_step_pre_hook(note("before all")),
        base(m).register_optimizer_step_post_hook(note("after all")),
        o.register_step_pre_hook(note("before")), o.register_step_post_hook(note("after")),
        o.register_state_dict_pre_hook(note("before state")),
        o.register_state_dict_pre_hook(note("first before state"), prepend=True),
        o.register_state_dict_post_hook(note("after state")),
        o.register_state_dict_post_hook(note("first after state"), prepend=True),
        o.register_load_state_dict_pre_hook(note("before load")),
        o.register_load_state_dict_pre_hook(note("first before load"), prepend=True),
        o.register_load_state_dict_post_hook(note("after load")),
        o.register_load_state_dict_post_hook(note("first after load"), prepend=True)]
    for handle in (None, *handles):
        if handle is not None:
            handle.remove()
        o.step()
        o.step(lambda: 3)
        other.step()
        o.load_state_dict(o.state_dict())
    return told


def rewritten(m):
    """Hooks that change what they are given."""
    p = leaf(m)
    p.grad = m.ones(2)
    o, losses = m.optim.SGD([p], lr=0.1), []
    o.register_step_pre_hook(lambda o, args, kwargs: ((o,), {"closure": lambda: 7}))
    losses.append(o.step())
    o.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    o.register_load_state_dict_pre_hook(lambda o, state: {**state, "param_groups": [
        {**group, "lr": 0.7} for group in state["param_groups"]]})
    o.load_state_dict(o.state_dict())
    return losses, o, state_of(o), p


def wrong_hook(m):
    """A hook that returns something else."""
    o = m.optim.SGD([leaf(m)], lr=0.1)
    o.register_step_pre_hook(lambda *args: 1)
    try:
        o.step()
    except RuntimeError as error:
        return str(error).split(">", 1)[1]


def own_optimizer(m):
    """An optimiser of the user's."""

    required = base(m).required

    class Signs(m.optim.Optimizer):
        def __init__(self, params, lr=required):
            super().__init__(params, {"lr": lr, "extra": [1]})

        def step(self, closure=None):
            with m.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        self.state[p]["n"] = self.state[p].get("n", 0) + 1
                        p.sub_(group["lr"] * p.grad.sign())

    p = leaf(m)
    p.grad = m.ones(2)
    o, told = Signs([p], lr=0.5), []
    o.register_step_post_hook(lambda *args: told.append(1))
    o.step()
    o.step()
    return o, o.defaults, told, p, p._version, state_of(o), lambda: Signs([p])


def failing(m):
    """Its required option is missing."""
    return own_optimizer(m)[-1]()


def zeroed(m, set_to_none, history=False):
    """What `zero_grad` leaves of gradients."""
    a, b = leaf(m), leaf(m)
    (a * a).sum().backward(create_graph=history)
    kept = a.grad
    m.optim.SGD([a, b], lr=0.1).zero_grad(set_to_none)
    return a.grad, b.grad, a.grad is kept, kept


def groups(m):
    """Groups with options of their own."""
    a, b, c = leaf(m), leaf(m), leaf(m)
    o = m.optim.SGD([{"params": a, "lr": 0.5}, {"params": [b], "momentum": 0.9}], lr=0.1)
    o.add_param_group({"params": iter([c]), "nesterov": True, "mine": "x"})
    for p in (a, b, c):
        p.grad = m.ones(2)
    o.step()
    return o, flat([{k: v for k, v in g.items() if k != "params"} for g in o.param_groups]), a, b, c, len(o.state)


def copied(m, way):
    """An optimiser that was copied or pickled steps on its own."""
    o = way(stepped(m, "NAdam", weight_decay=0.1))
    p = o.param_groups[0]["params"][0]
    p.grad = m.ones(2)
    o.step()
    return o, state_of(o), p, o.state[p]["step"], sorted(o.__getstate__())


def closing(m, name):
    """The closure's loss comes back; it runs with grad mode on, and before the step."""
    p, modes = leaf(m), []
    o = getattr(m.optim, name)([p])

    def closure():
        modes.append((m.is_grad_enabled(), p.tolist()))
        o.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with m.no_grad():
        return o.step(closure).item(), modes[0], m.is_grad_enabled()


def in_doubles(m):
    """The states of all optimisers where float64 is the default dtype: their counts of steps have it too."""
    m.set_default_dtype(m.float64)
    try:
        return [state_of(stepped(m, name)) for name in NAMES if name != "LBFGS"]
    finally:
        m.set_default_dtype(m.float32)


def without_init(m):
    """An optimiser around another that does not call the base's `__init__`, as packages have it: no hooks, no error."""
    class Around(m.optim.Optimizer):
        def __init__(self, base):
            self.base, self.param_groups, self.state = base, base.param_groups, base.state

        def step(self, closure=None):
            return self.base.step(closure)

    p = leaf(m)
    p.grad = m.ones_like(p)
    Around(m.optim.SGD([p], lr=0.1)).step()
    return p


PROGRAMS = {
    "states in float64": in_doubles,
    "around another": without_init,
    "printed": lambda m: [repr(getattr(m.optim, name)([leaf(m)], lr=0.1)) for name in NAMES],
    "printed, defaults": lambda m: [repr(getattr(m.optim, name)([leaf(m)])) for name in NAMES],
    "printed, tensors": lambda m: repr(
        m.optim.Adam([leaf(m)], lr=m.tensor(0.1), betas=(m.tensor(0.5), m.tensor([0.9])))),
    "groups": groups,
    "names": lambda m: m.optim.SGD(m.nn.Linear(2, 1).named_parameters(), lr=0.1),
    "names in state": lambda m: flat(m.optim.SGD([("a", leaf(m)), ("b", leaf(m))], lr=0.1).state_dict()),
    "some names": lambda m: m.optim.SGD([("a", leaf(m)), leaf(m)], lr=0.1),
    "a group without names": lambda m: m.optim.SGD([{"params": [("a", leaf(m))]}, {"params": [leaf(m)]}], lr=0.1),
    "a group with names": lambda m: m.optim.SGD([{"params": [leaf(m)]}, {"params": [("a", leaf(m))]}], lr=0.1),
    "no parameters": lambda m: m.optim.SGD([], lr=0.1),
    "a tensor": lambda m: m.optim.SGD(leaf(m), lr=0.1),
    "a number": lambda m: m.optim.SGD([1], lr=0.1),
    "a list": lambda m: m.optim.SGD([[1]], lr=0.1),
    "None": lambda m: m.optim.SGD(None, lr=0.1),
    "a set": lambda m: m.optim.SGD([{"params": {leaf(m)}}], lr=0.1),
    "no dict": lambda m: stepped(m).add_param_group([leaf(m)]),
    "no params": lambda m: m.optim.SGD([{"lr": 1}]),
    "not a leaf": lambda m: m.optim.SGD([leaf(m) * 2], lr=0.1),
    "twice in a group": lambda m: (lambda p: m.optim.SGD([p, p], lr=0.1))(leaf(m)),
    "in two groups": lambda m: (lambda p: m.optim.SGD([{"params": p}, {"params": p}], lr=0.1))(leaf(m)),
    "integers": lambda m: m.optim.SGD([m.tensor([1])], lr=0.1).step(),
    "the base's step": lambda m: m.optim.Optimizer([leaf(m)], {}).step(),
    "the base": lambda m: [m.optim.Optimizer([leaf(m)], {"a": 1}), m.optim.Optimizer([leaf(m)], {"a": 1}).state_dict()],
    "one of the user's": lambda m: own_optimizer(m)[:-1],
    "a required option": failing,
    "hooks": hooked,
    "hooks that rewrite": rewritten,
    "a wrong hook": wrong_hook,
    "zero_grad": lambda m: zeroed(m, True),
    "zero_grad to zero": lambda m: zeroed(m, False),
    "zero_grad with history": lambda m: zeroed(m, False, True),
    "deepcopy": lambda m: copied(m, copy.deepcopy),
    "pickle": lambda m: copied(m, lambda o: pickle.loads(pickle.dumps(o))),
    "closures": lambda m: [closing(m, name) for name in NAMES if name != "LBFGS"],
    "states": lambda m: [state_of(stepped(m, name)) for name in NAMES if name != "LBFGS"],
    "load": lambda m: [loaded(m, lambda s: None, name)[:2] for name in NAMES if name != "LBFGS"],
    "load, other options": lambda m: loaded(m, lambda s: None, lr=0.5, weight_decay=0.1, amsgrad=True),
    "load, more groups": lambda m: loaded(m, lambda s: s["param_groups"].append(s["param_groups"][0])),
    "load, fewer parameters": lambda m: loaded(m, lambda s: s["param_groups"][0]["params"].pop()),
    "load, no groups": lambda m: loaded(m, lambda s: {"state": {}}),
    "load, no state": lambda m: loaded(m, lambda s: {"param_groups": s["param_groups"]}),
    "load, part of the state": lambda m: loaded(m, lambda s: s["state"].pop(0) and None),
    "load, more": lambda m: loaded(m, lambda s: s["state"].update({"x": {"y": 1}, 7: [2]})),
    "load, a number of steps": lambda m: loaded(m, lambda s: s["state"][0].update(step=5)),
    "load, steps of the old": lambda m: loaded(
        m, lambda s: [each.update(step=5) for each in s["state"].values()] and None),
    "load, other dtype": lambda m: loaded(m, lambda s: s["state"][0].update(exp_avg=s["state"][0]["exp_avg"].double())),
    "load, options missing": lambda m: loaded(m, lambda s: [s["param_groups"][0].pop(k) for k in (
        "amsgrad", "maximize", "foreach", "capturable", "differentiable", "fused")] and None),
    "load, AdamW of Adam": lambda m: (lambda o: (o.load_state_dict(stepped(m).state_dict()), o))(stepped(m, "AdamW")),
    "load, names": lambda m: (lambda o: (o.load_state_dict(stepped(m, "SGD", lr=0.3).state_dict()), o))(
        m.optim.SGD([("a", leaf(m)), ("b", leaf(m))], lr=0.1)),
    "a state is no copy": lambda m: (lambda o: o.state_dict()["state"][0]["exp_avg"] is o.state[
        o.param_groups[0]["params"][0]]["exp_avg"])(stepped(m)),
    "lr as a tensor": lambda m: [state_of(stepped(m, name, lr=m.tensor(0.1))) for name in NAMES if name != "LBFGS"],
    "lr of one element": lambda m: [state_of(stepped(m, name, lr=m.tensor([0.1]))) for name in ("SGD", "Adam")],
    "betas as tensors": lambda m: stepped(m, betas=(m.tensor(0.5), m.tensor([0.9]))),
    "float16": lambda m: [stepped(m, name, [m.tensor([1.0, 2.0], dtype=m.float16, requires_grad=True)], lr=0.125)
                          .param_groups[0]["params"] for name in ("SGD", "Rprop")],
    "a view": lambda m: (lambda base: [stepped(m, "Adam", [base[1].detach()]).param_groups[0]["params"], base])(
        m.ones(3, 2)),
    "rows with gaps": lambda m: (lambda base: [stepped(m, "Adam", [base[:, 1].detach()]).param_groups[0]["params"],
                                               base])(m.ones(3, 2)),
    "an expanded parameter": lambda m: stepped(m, "SGD", [m.ones(1).expand(3)], lr=0.1),
    "a saved parameter": lambda m: (lambda p: [(p * p).sum(), stepped(m, "Adam", [p])][0].backward())(leaf(m)),
    "retained": lambda m: (lambda p: (p.retain_grad(), stepped(m, "SGD", [p], lr=0.1))[1])(leaf(m) * 1),
}
WRONG = """
SGD lr=-1|SGD momentum=-0.1|SGD weight_decay=-1|SGD nesterov=True|SGD nesterov=True,momentum=0.9,dampening=0.1
SGD lr=m.ones(2)|SGD fused=True,foreach=True|SGD fused=True,differentiable=True|SGD lr='a'|SGD lr=-m.ones(())
Adam lr=-1|Adam eps=-1|Adam betas=(1.0,0.9)|Adam betas=(0.9,-0.1)|Adam weight_decay=-1|Adam betas=(1,2)
Adam betas=(0.5,m.ones(())*0.5)|Adam betas=(0,0)|Adam betas=(m.ones(2)*0.5,m.ones(())*0.5)|Adam lr=m.ones(2)
Adam lr=m.ones(()),foreach=True|Adam betas=(m.ones(())*0.5,)*2,foreach=True|Adam fused=True,foreach=True
Adam fused=True,differentiable=True|Adam lr=float('nan')|Adam betas=(m.ones(())*0.5,m.ones(2)*0.5)
AdamW lr=-1|AdamW weight_decay=-1|AdamW amsgrad=True,lr=m.ones(3)|AdamW decoupled_weight_decay=True
RMSprop lr=-1|RMSprop eps=-1|RMSprop momentum=-1|RMSprop weight_decay=-1|RMSprop alpha=-1|RMSprop lr=m.ones(2)
Adagrad lr=-1|Adagrad lr_decay=-1|Adagrad weight_decay=-1|Adagrad initial_accumulator_value=-1|Adagrad eps=-1
Adagrad fused=True,foreach=True|Adagrad fused=True,differentiable=True|Adagrad lr=m.ones(2)
Adadelta lr=-1|Adadelta rho=1.5|Adadelta rho=-0.5|Adadelta eps=-1|Adadelta weight_decay=-1|Adadelta lr=m.ones(2)
Adamax lr=-1|Adamax eps=-1|Adamax betas=(1.0,0.5)|Adamax betas=(0.5,1.0)|Adamax weight_decay=-1|Adamax lr=m.ones(2)
NAdam lr=-1|NAdam eps=-1|NAdam betas=(1.0,0.5)|NAdam weight_decay=-1|NAdam momentum_decay=-1|NAdam lr=m.ones(2)
RAdam lr=-1|RAdam eps=-1|RAdam betas=(0.1,1.5)|RAdam weight_decay=-1|RAdam lr=m.ones(2)
Rprop lr=-1|Rprop etas=(1.5,2.0)|Rprop etas=(0.5,0.9)|Rprop lr=m.ones(2)
ASGD lr=-1|ASGD weight_decay=-1|ASGD lr=m.ones(2)
Adafactor lr=-1|Adafactor beta2_decay=1|Adafactor eps=(-1,1)|Adafactor eps=(None,-1)|Adafactor d=0.5
Adafactor weight_decay=-1|Adafactor lr=m.ones(2)|Muon lr=-1|Muon momentum=-1|Muon weight_decay=-1|Muon lr=m.ones(2)
Muon adjust_lr_fn="x"|Muon lr=0.1
LBFGS lr=-1|LBFGS lr=m.ones(2)|LBFGS line_search_fn='wolfe'
SGD 0.1,0.9,0.0,0.0,False,True|Adam 0.1,(0.9,0.9),1e-8,0,False,None|Adam foo=1
""".strip().replace("\n", "|").split("|")
METHODS = ("add_param_group", "load_state_dict", "register_load_state_dict_post_hook",
           "register_load_state_dict_pre_hook", "register_state_dict_post_hook", "register_state_dict_pre_hook",
           "register_step_post_hook", "register_step_pre_hook", "state_dict", "step", "zero_grad")
CAPTURED = [name for name in NAMES if name not in ("SGD", "Adagrad", "LBFGS")]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_programs(torch, every_warning, name):
    alike(torch, PROGRAMS[name])


DIFFERENTIABLE = (
    "SGD", "SGD momentum=0.9,weight_decay=0.1,nesterov=True", "Adam", "AdamW", "RMSprop momentum=0.5", "Adagrad",
    "Adadelta", "NAdam", "RAdam", "ASGD", "Adam maximize=True", "SGD learnt", "SGD nesterov=True,momentum=0.5,learnt",
    "RAdam learnt", "ASGD learnt", "Adagrad weight_decay=0.1", "Adadelta weight_decay=0.1",
    "NAdam decoupled_weight_decay=True,weight_decay=0.1")
ONCE = (  # of two steps PyTorch cannot go back through the second: it writes to the state that the first has saved
    "Adam amsgrad=True", "AdamW amsgrad=True,weight_decay=0.1", "Adamax", "Adamax weight_decay=0.1", "Rprop",
    "Rprop lr=0.5,maximize=True", "RMSprop centered=True,momentum=0.5")


@pytest.mark.parametrize("line", DIFFERENTIABLE + ONCE)
def test_differentiable_steps(torch, line):
    def program(m):
        name, _, options = line.partition(" ")
        options = eval(f"dict({options.replace('learnt', '')})")
        start, slope = [m.tensor(v, dtype=m.float64, requires_grad=True) for v in ([1.0, 2.0, 3.0], [0.3, -0.2, 0.5])]
        wanted = [start, slope]
        if "learnt" in line:
            options["lr"] = m.tensor(0.1, dtype=m.float64, requires_grad=True)
            wanted.append(options["lr"])
        p = start.clone()
        optimizer = getattr(m.optim, name)([p], differentiable=True, **options)
        for i in range(1 if line in ONCE else 3):
            p.grad = (slope * (i + 1)).sin()
            optimizer.step()
        found = m.autograd.grad(p.sum() + (p * p).sum(), wanted, allow_unused=True)
        return [[] if g is None else g.tolist() for g in found]

    for ours, theirs in zip(program(minigrad), program(torch), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)  # PyTorch computes with the step in float32


def test_a_learnt_state(torch):
    """A step of NAdam is differentiated by the product of momenta too, which is part of its state."""
    def program(m):
        start, product = [m.tensor(v, dtype=m.float64, requires_grad=True) for v in ([1.0, 2.0], 0.9)]
        p = start.clone()
        optimizer = m.optim.NAdam([p], differentiable=True)
        optimizer.state[p].update(step=m.tensor(3.0), mu_product=product.clone(), exp_avg=m.ones_like(start).detach(),
                                  exp_avg_sq=m.ones_like(start).detach())
        p.grad = m.ones_like(start).detach()
        optimizer.step()
        return [g.tolist() for g in m.autograd.grad(p.sum(), [start, product])]

    for ours, theirs in zip(program(minigrad), program(torch), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)


@pytest.mark.parametrize("line", WRONG)
def test_wrong_options(torch, line):
    name, options = line.split(" ", 1)

    def program(m):
        optimizer = eval(f"m.optim.{name}([p], {options})", {"m": m, "p": leaf(m)})
        optimizer.step(lambda: leaf(m).sum())
        return optimizer

    alike(torch, program)


@pytest.mark.parametrize("name", CAPTURED)
def test_capturable(torch, name):
    alike(torch, lambda m: stepped(m, name, capturable=True))


@pytest.mark.parametrize("name", NAMES)
def test_two_groups(torch, name):
    alike(torch, lambda m: getattr(m.optim, name)([{"params": [leaf(m)]}, {"params": [leaf(m)], "lr": 0.5}]))


def arguments(function):
    """Names, kinds and defaults of arguments."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", NAMES)
def test_arguments(torch, name):
    ours, theirs = getattr(minigrad.optim, name), getattr(torch.optim, name)
    assert arguments(ours) == arguments(theirs)
    assert arguments(ours.step) == arguments(theirs.step)


def test_methods(torch):
    for name in METHODS:
        ours, theirs = getattr(minigrad.optim.Optimizer, name), getattr(torch.optim.Optimizer, name)
        assert arguments(ours) == arguments(theirs), name
    missing = set(torch.optim.__all__) - set(minigrad.optim.__all__)
    assert missing == {"SparseAdam", "swap_in_optimizer_params_and_state"}
