"""Programs that provoke the errors and warnings of autograd: the name of each begins with the rule that explains it."""

import copy
import inspect
import sys

__all__ = ["PROGRAMS"]


def leaf(torch, *shape):
    return torch.ones(*shape, requires_grad=True)


def inplace_on_saved__exp(torch):
    x = leaf(torch, 3)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def second_backward__twice(torch):
    y = (leaf(torch, 3) ** 2).sum()
    y.backward()
    y.backward()


def second_backward__saved_tensor_read_afterwards(torch):
    y = (leaf(torch, 3) ** 2).sum()
    node = y.grad_fn.next_functions[0][0]
    y.backward()
    print(node._saved_self)


def no_graph_loss__constant(torch):
    torch.ones(3).sum().backward()


def inplace_on_leaf__plain(torch):
    leaf(torch, 3).add_(1)


def inplace_on_leaf__row(torch):
    w = leaf(torch, 3, 2)
    w[0].zero_()


def inplace_on_view__unbound_row(torch):
    x = leaf(torch, 3, 2) * 1
    row = x.unbind()[0]
    row.mul_(2)


def inplace_on_view__made_under_no_grad(torch):
    x = leaf(torch, 3, 2) * 1
    with torch.no_grad():
        row = x[0]
    row.mul_(2)


def inference_tensor__changed_outside(torch):
    with torch.inference_mode():
        x = torch.ones(3)
    x.add_(1)


def inference_tensor__saved(torch):
    with torch.inference_mode():
        x = torch.ones(3)
    (leaf(torch, 3) * x).sum().backward()


def inference_tensor__version_read(torch):
    with torch.inference_mode():
        x = torch.ones(3)
    print(x._version)


def inference_tensor__asked_for_gradients(torch):
    with torch.inference_mode():
        x = torch.ones(3)
    x.requires_grad = True


def detach_view__of_a_graph(torch):
    row = (leaf(torch, 3, 2) * 1)[0]
    row.detach_()


def inplace_on_expanded__column(torch):
    x = torch.ones(3, 1).expand(3, 4)
    x.add_(1)


def not_a_leaf__flag_of_a_result(torch):
    y = leaf(torch, 3) * 2
    y.requires_grad = False


def not_a_leaf__given_to_an_optimizer(torch):
    torch.optim.SGD([leaf(torch, 3) * 0.1], lr=0.1)


def not_a_leaf__grad_of_a_result(torch):
    y = leaf(torch, 3) * 2
    y.sum().backward()
    return y.grad


def integer_requires_grad__made_of_integers(torch):
    torch.tensor([1, 2], requires_grad=True)


def integer_requires_grad__flag(torch):
    torch.arange(3).requires_grad_()


def no_requires_grad__retained(torch):
    torch.ones(3).retain_grad()


def no_requires_grad__hook(torch):
    torch.ones(3).register_hook(print)


def no_requires_grad__differentiated(torch):
    x = torch.ones(3)
    torch.autograd.grad(leaf(torch, 3).sum(), x)


def hook_on_result__post_accumulate(torch):
    (leaf(torch, 3) * 2).register_post_accumulate_grad_hook(print)


def numpy_with_grad__leaf(torch):
    leaf(torch, 3).numpy()


def deepcopy_of_result__loss(torch):
    copy.deepcopy(leaf(torch, 3) * 2)


def wrong_grad__shape(torch):
    leaf(torch, 3).grad = torch.ones(4)


def wrong_grad__type(torch):
    leaf(torch, 3).grad = 1.0


def not_a_scalar__rows(torch):
    (leaf(torch, 3) * 2).backward()


def gradient_shape__rows(torch):
    (leaf(torch, 3) * 2).backward(torch.ones(4))


def gradient_count__two_of_one(torch):
    y = leaf(torch, 3) * 2
    torch.autograd.backward([y.sum(), y.sum()], [torch.tensor(1.0)])


def gradient_type__number(torch):
    torch.autograd.backward([(leaf(torch, 3) * 2).sum()], [1.0])


def no_inputs__backward(torch):
    (leaf(torch, 3) * 2).sum().backward(inputs=[])


def unused_input__other_leaf(torch):
    torch.autograd.grad((leaf(torch, 3) * 2).sum(), leaf(torch, 3))


def grad_arguments__materialized(torch):
    x = leaf(torch, 3)
    torch.autograd.grad((x * 2).sum(), x, allow_unused=False, materialize_grads=True)


def grad_arguments__only_inputs(torch):
    x = leaf(torch, 3)
    torch.autograd.grad((x * 2).sum(), x, only_inputs=False)


def grad_arguments__grad_variables(torch):
    y = leaf(torch, 3) * 2
    torch.autograd.backward([y], grad_variables=[torch.ones(3)])


def grad_arguments__both_names(torch):
    y = leaf(torch, 3) * 2
    torch.autograd.backward([y], [torch.ones(3)], grad_variables=[torch.ones(3)])


def function(torch, backward=None, forward=None, **more):
    """A Function with one of its methods replaced."""
    made = {"forward": staticmethod(forward or (lambda ctx, x: x * 2)),
            "backward": staticmethod(backward or (lambda ctx, grad: grad * 2)), **more}
    return type("Twice", (torch.autograd.Function,), {k: v for k, v in made.items() if v is not False})


def function_gradients__one_too_many(torch):
    function(torch, lambda ctx, grad: (grad, grad)).apply(leaf(torch, 3)).sum().backward()


def function_gradients__for_a_number(torch):
    twice = function(torch, lambda ctx, grad: (grad, grad), lambda ctx, x, n: x * n)
    twice.apply(leaf(torch, 3), 2).sum().backward()


def function_gradients__not_a_tensor(torch):
    function(torch, lambda ctx, grad: 1.0).apply(leaf(torch, 3)).sum().backward()


def function_gradient_shape__summed(torch):
    function(torch, lambda ctx, grad: grad[:2]).apply(leaf(torch, 3)).sum().backward()


def function_incomplete__no_forward(torch):
    type("Empty", (torch.autograd.Function,), {}).apply(leaf(torch, 3))


def function_incomplete__no_backward(torch):
    made = {"forward": staticmethod(lambda ctx, x: x * 2)}
    type("Half", (torch.autograd.Function,), made).apply(leaf(torch, 3)).sum().backward()


def function_incomplete__backward_and_vjp(torch):
    function(torch, vjp=staticmethod(lambda ctx, grad: grad)).apply(leaf(torch, 3)).sum().backward()


def function_saves__number(torch):
    def forward(ctx, x):
        ctx.save_for_backward(2.0)
        return x * 2

    function(torch, forward=forward).apply(leaf(torch, 3))


def function_saves__forward_mode(torch):
    def forward(ctx, x):
        ctx.save_for_forward(2.0)
        return x * 2

    function(torch, forward=forward).apply(leaf(torch, 3))


def function_legacy__called(torch):
    function(torch)()(leaf(torch, 3))


def function_dirty__leaf(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    function(torch, forward=forward).apply(leaf(torch, 3))


def once_differentiable__twice(torch):
    once = torch.autograd.function.once_differentiable(lambda ctx, grad: grad * 2)
    x = leaf(torch, 3)
    y = (function(torch, once).apply(x * x) ** 2).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    slope.sum().backward()


def hook_changes_gradient__shape(torch):
    y = leaf(torch, 3) * 2
    y.register_hook(lambda grad: grad[:2])
    y.sum().backward()


def hook_returns__number(torch):
    y = leaf(torch, 3) * 2
    y.register_hook(lambda grad: 1.0)
    y.sum().backward()


def saved_hooks__unpacked_to_a_number(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 1.0):
        y = leaf(torch, 3) ** 2
    y.sum().backward()


def saved_hooks__pack_in_place(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        (torch.ones(3) * leaf(torch, 3)).sum().backward()


def checkpoint_without_grad__reentrant(torch):
    torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(3), use_reentrant=True)


def checkpoint_use_reentrant__not_said(torch):
    torch.utils.checkpoint.checkpoint(torch.sin, leaf(torch, 3))


def checkpoint_changed__counts_its_calls(torch):
    calls = []

    def block(x):
        calls.append(1)
        return x.sin() if len(calls) == 1 else x[:2].sin()

    torch.utils.checkpoint.checkpoint(block, leaf(torch, 3), use_reentrant=False).sum().backward()


def checkpoint_with_grad__reentrant(torch):
    x = leaf(torch, 3)
    y = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True)
    torch.autograd.grad(y.sum(), x)


def checkpoint_arguments__keyword(torch):
    torch.utils.checkpoint.checkpoint(lambda x, scale: x * scale, leaf(torch, 3), use_reentrant=True, scale=2)


def nan_backward__anomaly_mode(torch):
    with torch.autograd.set_detect_anomaly(True):
        x = torch.zeros(3, requires_grad=True)
        (x.sqrt() * 0).sum().backward()


def broadcast_loss__target_of_another_shape(torch):
    torch.nn.functional.mse_loss(leaf(torch, 3, 1), torch.ones(3)).backward()


def cut_graph__tensor_of_a_tensor(torch):
    torch.tensor(leaf(torch, 3))


def kept_graph__create_graph(torch):
    (leaf(torch, 3) ** 2).sum().backward(create_graph=True)


def wrong_order__schedule_first(torch):
    optimizer = torch.optim.SGD([leaf(torch, 3)], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scheduler.step()
    optimizer.step()


PROGRAMS = {name: program for name, program in inspect.getmembers(sys.modules[__name__], inspect.isfunction)
            if "__" in name}
