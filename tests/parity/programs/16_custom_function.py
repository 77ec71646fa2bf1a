# LinearFunction with forward + setup_context + backward
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        print('inside:', input.requires_grad, weight.requires_grad, output.requires_grad, torch.is_grad_enabled())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output
    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)
    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        print('needs_input_grad', ctx.needs_input_grad)
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], requires_grad=True)
bias = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
out = LinearFunction.apply(x, weight, bias)
print('outside:', out.requires_grad, out.is_leaf)
print(out)
print(out.grad_fn, type(out.grad_fn).__name__, out.grad_fn.next_functions)
out.sum().backward()
print(x.grad, weight.grad, bias.grad)
out = LinearFunction.apply(x.detach(), weight, None)
print(out)
out.sum().backward()
print(weight.grad)
print(LinearFunction.apply(x.detach(), weight.detach(), bias.detach()))
x64 = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
w64 = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
b64 = torch.rand(4, dtype=torch.float64, requires_grad=True)
import io, contextlib
with contextlib.redirect_stdout(io.StringIO()):
    ok = torch.autograd.gradcheck(LinearFunction.apply, (x64, w64, b64))
print('gradcheck', ok)
