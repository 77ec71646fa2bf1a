"""Optimises the pixels of a picture by LBFGS towards the features of one and the Gram matrices of another."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import copy

torch.manual_seed(8)
torch.set_default_dtype(torch.float64)
cnn = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(6, 6, 3, padding=1),
                    nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, padding=1)).eval().requires_grad_(False)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super(ContentLoss, self).__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super(StyleLoss, self).__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = torch.as_tensor(mean).clone().view(-1, 1, 1), torch.as_tensor(std).view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8) ** 2
model = nn.Sequential(Normalization([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
losses, i = [], 0
for layer in copy.deepcopy(cnn).children():
    if isinstance(layer, nn.Conv2d):
        i += 1
    name = f"{type(layer).__name__.lower()}_{i}"
    model.add_module(name, nn.ReLU(inplace=False) if isinstance(layer, nn.ReLU) else layer)
    if name in ("conv2d_2", "conv2d_3"):
        kind, picture = (ContentLoss, content) if i == 2 else (StyleLoss, style)
        losses.append(kind(model(picture).detach()))
        model.add_module(f"{kind.__name__}_{i}", losses[-1])
print([name for name, _ in model.named_children()])
image = content.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([image], max_iter=4)
run = [0]
while run[0] <= 12:
    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        optimizer.zero_grad()
        model(image)
        loss = losses[0].loss + 1e4 * losses[1].loss
        loss.backward()
        run[0] += 1
        if run[0] % 6 == 1:
            print("run {}: content {:.6f} style {:.8f}".format(run[0], losses[0].loss.item(), losses[1].loss.item()))
        return loss
    optimizer.step(closure)
with torch.no_grad():
    image.clamp_(0, 1)
print(f"{image.mean().item():.5f}", f"{(image - content).abs().max().item():.5f}", image.is_leaf)
