"""Adversarial examples by the sign of the input's gradient, one step and many, as security tutorials show them."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
torch.set_default_dtype(torch.float64)
model = nn.Sequential(nn.Flatten(), nn.Linear(36, 24), nn.Tanh(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
prototypes = torch.rand(3, 1, 6, 6)
y = torch.arange(3).repeat(10)
x = (prototypes[y] + 0.1 * torch.randn(30, 1, 6, 6)).clamp_(0, 1)
for _ in range(40):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()


def fgsm_attack(image, epsilon, data_grad):
    return torch.clamp(image + epsilon * data_grad.sign(), 0, 1)


def pgd(images, labels, eps=0.2, alpha=0.05, iters=5):
    adversarial = images + torch.empty_like(images).uniform_(-eps, eps)
    for _ in range(iters):
        adversarial = adversarial.detach().requires_grad_(True)
        cost = F.cross_entropy(model(adversarial), labels)
        grad, = torch.autograd.grad(cost, [adversarial])
        eta = torch.clamp(adversarial.detach() + alpha * grad.sign() - images, min=-eps, max=eps)
        adversarial = torch.clamp(images + eta, min=0, max=1)
    return adversarial


def accuracy(inputs):
    with torch.no_grad():
        return (model(inputs).argmax(1) == y).double().mean().item()


print(f"clean {accuracy(x):.4f}")
for epsilon in [0, 0.05, 0.1, 0.2]:
    data = x.clone()
    data.requires_grad = True
    loss = F.nll_loss(F.log_softmax(model(data), dim=1), y)
    model.zero_grad()
    loss.backward()
    attacked = fgsm_attack(data, epsilon, data.grad.data)
    print(f"eps {epsilon}: accuracy {accuracy(attacked):.4f}, largest change {(attacked - x).abs().max():.4f}")
strong = pgd(x, y)
print(f"pgd {accuracy(strong):.4f}", strong.requires_grad, f"{(strong - x).norm(p=float('inf')):.4f}")
target = torch.full_like(y, 1)
noise = torch.zeros_like(x[:1], requires_grad=True)
opt = torch.optim.SGD([noise], lr=0.5)
for _ in range(5):
    opt.zero_grad()
    (F.cross_entropy(model(x + noise), target) + 0.01 * noise.norm()).backward() if noise.norm() > 0 else \
        F.cross_entropy(model(x + noise), target).backward()
    opt.step()
print(f"universal {noise.norm():.5f}", (model(x + noise).argmax(1) == 1).sum().item())
