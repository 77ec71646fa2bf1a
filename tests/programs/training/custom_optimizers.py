"""Three optimisers that papers come with, written on top of the Optimizer class: Lion, SAM and Lookahead."""
from collections import defaultdict

import torch
from torch.optim import Optimizer

torch.manual_seed(8)
torch.set_default_dtype(torch.float64)


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        if not 0.0 <= lr:
            raise ValueError("Invalid learning rate: {}".format(lr))
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                beta1, beta2 = group["betas"]
                update = state["exp_avg"].clone().mul_(beta1).add(p.grad, alpha=1 - beta1).sign_()
                p.add_(update, alpha=-group["lr"])
                state["exp_avg"].mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def step(self, closure):
        closure = torch.enable_grad()(closure)
        norm = torch.norm(torch.stack([p.grad.norm(p=2) for g in self.param_groups for p in g["params"]]), p=2)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad, alpha=float(group["rho"] / (norm + 1e-12)))
        self.zero_grad()
        closure()
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()


class Lookahead(Optimizer):
    def __init__(self, base, k=3, alpha=0.5):
        self.base, self.k, self.alpha, self.param_groups = base, k, alpha, base.param_groups
        self.state, self.defaults, self.counter = defaultdict(dict), base.defaults, 0
        self.slow = [[p.detach().clone() for p in g["params"]] for g in self.param_groups]

    def zero_grad(self, set_to_none=True):
        self.base.zero_grad(set_to_none)

    def step(self, closure=None):
        loss = self.base.step(closure)
        self.counter += 1
        if self.counter % self.k == 0:
            for group, slow in zip(self.param_groups, self.slow):
                for p, q in zip(group["params"], slow):
                    q.add_(p.data - q, alpha=self.alpha)
                    p.data.copy_(q)
        return loss


x = torch.randn(20, 4)
y = x @ torch.tensor([[1.0], [-2.0], [0.5], [0.0]]) + 0.1 * torch.randn(20, 1)
for make in (lambda p: Lion(p, lr=0.05, weight_decay=0.01), lambda p: SAM(p, torch.optim.SGD, lr=0.05, momentum=0.9),
             lambda p: Lookahead(torch.optim.RAdam(p, lr=0.1))):
    torch.manual_seed(1)
    w = torch.nn.Linear(4, 1)
    optimizer, history = make(w.parameters()), []

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(w(x), y)
        loss.backward()
        return loss

    for step in range(9):
        history.append(closure().item())
        optimizer.step(closure)
    print(type(optimizer).__name__, " ".join(f"{v:.6f}" for v in history[::4]), w.weight.data.numpy().round(4))
try:
    Lion(w.parameters(), lr=-1)
except ValueError as error:
    print(error)
print(Lion([{"params": [w.weight]}, {"params": [w.bias], "lr": 0.1}], lr=0.01))
