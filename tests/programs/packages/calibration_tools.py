"""Calibrates a classifier by temperature and by isotonic steps, and measures it by bins, as calibration tools do."""
import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)


class ModelWithTemperature(nn.Module):
    def __init__(self, model):
        super(ModelWithTemperature, self).__init__()
        self.model = model
        self.temperature = nn.Parameter(torch.ones(1) * 1.5)

    def forward(self, input):
        return self.temperature_scale(self.model(input))

    def temperature_scale(self, logits):
        return logits / self.temperature.unsqueeze(1).expand(logits.size(0), logits.size(1))

    def set_temperature(self, logits, labels):
        nll_criterion, ece_criterion = nn.CrossEntropyLoss(), _ECELoss()
        print("Before temperature - NLL: %.5f, ECE: %.5f" % (nll_criterion(logits, labels).item(), ece_criterion(logits, labels).item()))
        optimizer = optim.LBFGS([self.temperature], lr=0.1, max_iter=30)

        def eval():
            optimizer.zero_grad()
            loss = nll_criterion(self.temperature_scale(logits), labels)
            loss.backward()
            return loss

        optimizer.step(eval)
        scaled = self.temperature_scale(logits)
        print("Optimal temperature: %.5f" % self.temperature.item())
        print("After temperature - NLL: %.5f, ECE: %.5f" % (nll_criterion(scaled, labels).item(), ece_criterion(scaled, labels).item()))
        return self


class _ECELoss(nn.Module):
    def __init__(self, n_bins=6):
        super(_ECELoss, self).__init__()
        bin_boundaries = torch.linspace(0, 1, n_bins + 1)
        self.bin_lowers, self.bin_uppers = bin_boundaries[:-1], bin_boundaries[1:]

    def forward(self, logits, labels):
        confidences, predictions = torch.max(F.softmax(logits, dim=1), 1)
        accuracies = predictions.eq(labels)
        ece = torch.zeros(1, device=logits.device)
        for bin_lower, bin_upper in zip(self.bin_lowers, self.bin_uppers):
            in_bin = confidences.gt(bin_lower.item()) * confidences.le(bin_upper.item())
            prop_in_bin = in_bin.float().mean()
            if prop_in_bin.item() > 0:
                accuracy_in_bin = accuracies[in_bin].double().mean()
                ece += torch.abs(confidences[in_bin].mean() - accuracy_in_bin) * prop_in_bin
        return ece


def isotonic(y):
    blocks = [[v.item(), 1] for v in y]
    i = 0
    while i < len(blocks) - 1:
        if blocks[i][0] > blocks[i + 1][0]:
            (a, n), (b, m) = blocks[i], blocks.pop(i + 1)
            blocks[i] = [(a * n + b * m) / (n + m), n + m]
            i = max(i - 1, 0)
        else:
            i += 1
    return torch.cat([torch.full((n,), v) for v, n in blocks])


labels = torch.randint(3, (80,))
logits = 4 * (torch.randn(80, 3) + 0.8 * F.one_hot(labels, 3))
calibrated = ModelWithTemperature(nn.Identity()).set_temperature(logits, labels)
with torch.no_grad():
    p = calibrated(logits).softmax(1)
brier = (p - F.one_hot(labels, 3)).square().sum(1).mean()
print(f"brier {brier.item():.6f} entropy {-(p * p.log()).sum(1).mean().item():.6f}")
top, hit = p.max(1).values.sort()
steps = isotonic(p.argmax(1).eq(labels).double()[hit])
print(steps.unique_consecutive(return_counts=True)[1].sum().item(), f"{steps.mean():.6f}", (steps.diff() >= 0).all().item())
threshold = torch.quantile(1 - p.gather(1, labels[:, None]).squeeze(1), 0.9)
sets = p >= 1 - threshold
print(f"coverage {sets.gather(1, labels[:, None]).double().mean():.4f} size {sets.sum(1).double().mean():.4f}")
print(calibrated, calibrated.temperature.grad.abs().item() < 1e-3)
