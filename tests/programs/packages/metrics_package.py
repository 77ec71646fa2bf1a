"""Metrics that are updated batch by batch and computed at the end, compared with their definitions."""
import torch
from torch import Tensor, nn

torch.manual_seed(8)


class Metric(nn.Module):
    def __init__(self):
        super().__init__()
        self._defaults = {}

    def add_state(self, name, default, persistent=True):
        self._defaults[name] = default.clone() if isinstance(default, Tensor) else []
        if isinstance(default, Tensor):
            self.register_buffer(name, default, persistent=persistent)
        else:
            setattr(self, name, [])

    def reset(self):
        for name, default in self._defaults.items():
            setattr(self, name, default.clone() if isinstance(default, Tensor) else [])

    @torch.no_grad()
    def forward(self, *args):
        self.update(*args)
        return self.compute()

    def __add__(self, other):
        return lambda: self.compute() + other.compute()


class ConfusionMatrix(Metric):
    def __init__(self, classes):
        super().__init__()
        self.classes = classes
        self.add_state("matrix", torch.zeros(classes, classes, dtype=torch.long))

    def update(self, preds, target):
        index = target.view(-1) * self.classes + preds.argmax(dim=-1).view(-1)
        self.matrix += torch.bincount(index, minlength=self.classes ** 2).reshape(self.classes, self.classes)

    def compute(self):
        m = self.matrix.double()
        precision, recall = m.diag() / m.sum(0).clamp(min=1), m.diag() / m.sum(1).clamp(min=1)
        f1 = torch.nan_to_num(2 * precision * recall / (precision + recall))
        return {"accuracy": m.trace() / m.sum(), "f1": f1.mean(), "kappa": self.kappa(m)}

    @staticmethod
    def kappa(m):
        expected = torch.outer(m.sum(1), m.sum(0)) / m.sum()
        weights = 1 - torch.eye(len(m), dtype=m.dtype)
        return 1 - (weights * m).sum() / (weights * expected).sum()


class AUROC(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("scores", [])
        self.add_state("labels", [])

    def update(self, scores, labels):
        self.scores.append(scores)
        self.labels.append(labels)

    def compute(self):
        scores, labels = torch.cat(self.scores), torch.cat(self.labels)
        order = torch.argsort(scores, descending=True, stable=True)
        tps = labels[order].cumsum(0).double()
        fps = (1 - labels[order]).cumsum(0).double()
        return torch.trapezoid(tps / tps[-1], fps / fps[-1])


class R2(Metric):
    def __init__(self):
        super().__init__()
        for name in ("total", "squares", "residual", "count"):
            self.add_state(name, torch.tensor(0.0))

    def update(self, pred, target):
        self.total += target.sum()
        self.squares += target.square().sum()
        self.residual += (pred - target).pow(2).sum()
        self.count += target.numel()

    def compute(self):
        return 1 - self.residual / (self.squares - self.total ** 2 / self.count)


confusion, auroc, r2 = ConfusionMatrix(3), AUROC(), R2()
for _ in range(4):
    target = torch.randint(3, (10,))
    preds = torch.randn(10, 3) + 2 * nn.functional.one_hot(target, 3)
    values = confusion(preds, target)
    auroc(preds[:, 0].sigmoid(), (target == 0).long()) if len(auroc.scores) else auroc.update(preds[:, 0].sigmoid(), (target == 0).long())
    r2.update(preds[:, 1], target.float())
print({k: f"{v.item():.5f}" for k, v in values.items()})
print(confusion.matrix, list(confusion.state_dict()))
print(f"{auroc.compute().item():.5f} {r2.compute().item():.5f} {(r2 + r2)().item():.5f}")
scores, labels = torch.cat(auroc.scores), torch.cat(auroc.labels)
pairs = scores[labels == 1][:, None] > scores[labels == 0][None]
print(f"{pairs.double().mean().item():.5f}", pairs.shape)
confusion.reset()
print(confusion.matrix.sum().item(), [m.__class__.__name__ for m in nn.ModuleList([confusion, r2])])
hist = torch.histc(scores, bins=5, min=0, max=1)
print(hist.sum().item(), torch.searchsorted(torch.tensor([0.2, 0.4, 0.6, 0.8]), scores[:5]), torch.bucketize(scores[:3], torch.linspace(0, 1, 5)))
ranks = scores.argsort().argsort().double()
centred = ranks - ranks.mean()
print(f"{(centred @ (labels - labels.double().mean())) / (centred.norm() * labels.double().std(unbiased=False) * 40 ** 0.5):.5f}")
