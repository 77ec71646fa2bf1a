"""Writes several custom autograd Functions the way an "extending autograd" tutorial does and checks their gradients."""

import torch
from torch.autograd import Function, gradcheck
from torch.autograd.function import once_differentiable

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class MulConstant(Function):
    @staticmethod
    def forward(tensor, constant):
        return tensor * constant

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.constant = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


class MinMax(Function):
    @staticmethod
    def forward(ctx, x):
        lo, lo_at = x.min(dim=1)
        hi, hi_at = x.max(dim=1)
        ctx.mark_non_differentiable(lo_at, hi_at)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(lo_at, hi_at)
        ctx.shape = x.shape
        return lo, hi, lo_at, hi_at

    @staticmethod
    @once_differentiable
    def backward(ctx, g_lo, g_hi, _1, _2):
        lo_at, hi_at = ctx.saved_tensors
        grad = torch.zeros(ctx.shape)
        if g_lo is not None:
            grad.scatter_add_(1, lo_at.unsqueeze(1), g_lo.unsqueeze(1))
        if g_hi is not None:
            grad.scatter_add_(1, hi_at.unsqueeze(1), g_hi.unsqueeze(1))
        return grad


x, w, b = torch.randn(4, 3, requires_grad=True), torch.randn(2, 3, requires_grad=True), torch.randn(2, requires_grad=True)
out = LinearFunction.apply(x, w, b)
print(type(out.grad_fn).__name__, out.shape)
print("gradcheck linear:", gradcheck(LinearFunction.apply, (x, w, b), eps=1e-6, atol=1e-4), gradcheck(LinearFunction.apply, (x, w)))
y = MulConstant.apply(x, 2.5)
y.pow(2).sum().backward()
print("scaled:", x.grad.norm().item(), torch.allclose(x.grad, 12.5 * x))
lo, hi, i, j = MinMax.apply(x)
print("lo", lo.requires_grad, i.requires_grad, i.tolist(), j.tolist())
(g,) = torch.autograd.grad(hi.sum(), x)
print(g)
