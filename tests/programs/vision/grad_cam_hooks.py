"""Class activation maps from a forward hook and a gradient hook, and guided backpropagation by module hooks."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(9)
torch.set_default_dtype(torch.float64)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(6, 8, 3, padding=1), nn.ReLU())
        self.classifier = nn.Linear(8, 4)

    def forward(self, x):
        return self.classifier(self.features(x).mean(dim=(-2, -1)))


class GradCAM:
    def __init__(self, model, layer):
        self.model, self.handles = model, []
        self.handles.append(layer.register_forward_hook(self.save_activation))

    def save_activation(self, module, inputs, output):
        self.activation = output
        output.register_hook(lambda grad: setattr(self, "gradient", grad))

    def __call__(self, x, index=None):
        logits = self.model(x)
        index = logits.argmax(dim=-1) if index is None else index
        self.model.zero_grad()
        logits.gather(1, index.view(-1, 1)).sum().backward()
        weights = self.gradient.mean(dim=(2, 3), keepdim=True)
        cam = F.relu((weights * self.activation).sum(dim=1, keepdim=True))
        cam = F.interpolate(cam, size=x.shape[2:], mode="bilinear", align_corners=False)
        cam -= cam.amin(dim=(2, 3), keepdim=True)
        return cam / cam.amax(dim=(2, 3), keepdim=True).clamp_min(1e-8), index

    def remove(self):
        while self.handles:
            self.handles.pop().remove()


model = CNN().eval()
x = torch.rand(2, 3, 8, 8, requires_grad=True)
cam = GradCAM(model, model.features[-1])
maps, index = cam(x)
print(maps.shape, index.tolist(), maps.detach().mean(dim=(1, 2, 3)).numpy().round(4))
print(cam.gradient.shape, cam.gradient.requires_grad, f"{x.grad.norm():.6f}")
cam.remove()
print(len(model.features[-1]._forward_hooks))

guided = [m.register_full_backward_hook(lambda module, grad_in, grad_out: (F.relu(grad_in[0]),))
          for m in model.modules() if isinstance(m, nn.ReLU)]
x.grad = None
model(x)[:, 0].sum().backward()
print(f"guided {x.grad.norm():.6f} {x.grad.min():.6f}")
for handle in guided:
    handle.remove()
saliency = torch.autograd.grad(model(x).max(1)[0].sum(), x)[0].abs().max(dim=1)[0]
print(saliency.shape, f"{saliency.mean():.6f}")
total = torch.zeros_like(x)
for step in torch.linspace(0, 1, 9)[1:]:
    scaled = (x.detach() * step).requires_grad_()
    total += torch.autograd.grad(model(scaled)[:, 1].sum(), scaled)[0] / 8
print("integrated", (x.detach() * total).sum((1, 2, 3)).tolist().__len__(), f"{(x.detach() * total).sum():.6f}")
