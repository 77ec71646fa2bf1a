"""Errors inside a Function, a hook or a checkpointed body: the body is to be named, not the call around it."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.widgets.doctor.raised import raises


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad * weight.view(1, 3), (grad * x).sum(0)  # <-


@raises("shape-mismatch", "In the backward of Scale", "[1, 3] does not have 2 elements",
        "weight float32 of shape (2,)", mend="weight")
def a_function_whose_backward_does_not_fit():
    x, weight = torch.rand(3, 2).requires_grad_(), torch.rand(2).requires_grad_()
    Scale.apply(x, weight).sum().backward()


class Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.mean(1)

    @staticmethod
    def backward(ctx, grad):
        return grad / 4  # <-


@raises("function-gradient-shape", "Mean", "got [3] but expected shape compatible with [3, 4]", mend="expand")
def a_function_that_forgets_to_expand():
    x = torch.rand(3, 4).requires_grad_()
    Mean.apply(x).sum().backward()


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad):
        return grad  # <-


@raises("function-gradients", "Clip", "expected 3, got 1", mend="return grad, None, None")
def a_function_with_too_few_gradients():
    x = torch.rand(3).requires_grad_()
    Clip.apply(x, 0.2, 0.8).sum().backward()


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gate):
        return x * gate.view(3, -1)  # <-


@raises("shape-mismatch", "In the forward of Gate", "[3, -1] does not have 4 elements", mend="gate")
def a_function_whose_forward_does_not_fit():
    x, gate = torch.rand(3, 2).requires_grad_(), torch.rand(4)
    return Gate.apply(x, gate)


def clip_rows(grad):
    return grad / grad.norm(dim=1)  # <-


@raises("shape-mismatch", "In clip_rows, a hook", "grad float32 of shape (4, 3)", mend="grad")
def a_hook_that_does_not_fit():
    x = torch.rand(4, 3).requires_grad_()
    x.register_hook(clip_rows)
    x.exp().sum().backward()


def summed(grad):
    return grad.sum(0)  # <-


@raises("hook-changes-gradient", "summed", mend="")
def a_hook_that_returns_another_shape():
    x = torch.rand(4, 3).requires_grad_()
    x.register_hook(summed)
    x.exp().sum().backward()


def shapes(module, inputs, output):
    print(inputs[0].view(7, -1).shape)  # <-


@raises("shape-mismatch", "In shapes, a hook", "[7, -1] does not have 8 elements", mend="")
def a_forward_hook_that_does_not_fit():
    model = nn.Sequential(nn.Linear(4, 4))
    model[0].register_forward_hook(shapes)
    return model(torch.rand(2, 4))


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(8, 8), nn.Linear(16, 8)])

    def body(self, x):
        for block in self.blocks:
            x = block(x)  # <-
        return x

    def forward(self, x):
        return checkpoint(self.body, x, use_reentrant=False)


@raises("shape-mismatch", "In Deep.body, which is checkpointed", "model.blocks.1, Linear(in_features=16",
        "takes 16 features and got 8", mend="nn.Linear(8, 8)")
def a_checkpointed_body_that_does_not_fit():
    model = Deep()
    return model(torch.rand(2, 8))


calls = []


def growing(x):  # <-
    calls.append(x)
    return x.exp()[:, : len(calls)].sin()


@raises("checkpoint-changed", "growing", mend="")
def a_checkpointed_body_that_changes():
    calls.clear()
    x = torch.rand(2, 8).requires_grad_()
    checkpoint(growing, x, use_reentrant=False).sum().backward()
