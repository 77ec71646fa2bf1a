import torch
from torch.autograd import Function

class LinearFunction(Function):

    def forward(input, weight, bias):
        output = input.mm(weight.t())
        print('inputs.requires_grad: ', input.requires_grad)
        print('weight.requires_grad: ', weight.requires_grad)
        print('output.requires_grad: ', output.requires_grad)
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

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

x = torch.rand(2, 128, requires_grad=True)
weight = torch.rand(256, 128, requires_grad=True)
bias = torch.rand(256, requires_grad=True)
out = LinearFunction.apply(x, weight, bias)
print('out.requires_grad: ', out.requires_grad)
print(out.grad_fn)
out.sum().backward()
print(x.grad, weight.grad, bias.grad)
