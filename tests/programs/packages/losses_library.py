"""Losses that segmentation and contrastive packages offer, each with reductions, weights and a check by hand."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)
torch.set_default_dtype(torch.float64)


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=None, reduction="mean"):
        super().__init__()
        self.gamma, self.reduction = gamma, reduction
        self.register_buffer("alpha", None if alpha is None else torch.as_tensor(alpha))

    def forward(self, logits, target):
        log_pt = F.log_softmax(logits, dim=-1).gather(-1, target[..., None]).squeeze(-1)
        loss = -((1 - log_pt.exp()) ** self.gamma) * log_pt
        loss = loss if self.alpha is None else self.alpha[target] * loss
        return getattr(loss, self.reduction)() if self.reduction != "none" else loss


class TverskyLoss(nn.Module):
    def __init__(self, alpha=0.3, beta=0.7, smooth=1e-6):
        super().__init__()
        self.alpha, self.beta, self.smooth = alpha, beta, smooth

    def forward(self, logits, target):
        p = torch.sigmoid(logits).flatten(1)
        t = target.flatten(1).type_as(p)
        tp, fp, fn = (p * t).sum(-1), (p * (1 - t)).sum(-1), ((1 - p) * t).sum(-1)
        return (1 - (tp + self.smooth) / (tp + self.alpha * fp + self.beta * fn + self.smooth)).mean()


class NTXentLoss(nn.Module):
    def __init__(self, temperature=0.5):
        super().__init__()
        self.temperature = temperature

    def forward(self, a, b):
        n = a.size(0)
        z = F.normalize(torch.cat([a, b]), dim=1)
        similarity = torch.mm(z, z.t()) / self.temperature
        similarity.masked_fill_(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
        return F.cross_entropy(similarity, torch.arange(2 * n).roll(n))


def lovasz_grad(sorted_truth):
    total = sorted_truth.sum()
    intersection, union = total - sorted_truth.cumsum(0), total + (1 - sorted_truth).cumsum(0)
    jaccard = 1.0 - intersection / union
    jaccard[1:] = jaccard[1:] - jaccard[:-1].clone()
    return jaccard


def lovasz_hinge(logits, labels):
    errors = 1.0 - logits * (2.0 * labels - 1.0)
    sorted_errors, order = torch.sort(errors, dim=0, descending=True)
    return torch.dot(F.elu(sorted_errors) + 1, lovasz_grad(labels[order]).detach())


def total_variation(img):
    return (img[..., 1:, :] - img[..., :-1, :]).abs().mean() + (img[..., :, 1:] - img[..., :, :-1]).abs().mean()


logits, target = torch.randn(8, 4, requires_grad=True), torch.randint(4, (8,))
for loss in (FocalLoss(), FocalLoss(0.0, [1.0, 2.0, 0.5, 1.0]), FocalLoss(reduction="sum")):
    logits.grad = None
    value = loss(logits, target)
    value.backward()
    print(f"focal {value.item():.6f} grad {logits.grad.norm().item():.6f}", list(loss.state_dict()))
print(torch.allclose(FocalLoss(0.0)(logits, target), F.cross_entropy(logits, target)))
mask, scores = torch.rand(2, 1, 5, 5) > 0.6, torch.randn(2, 1, 5, 5, requires_grad=True)
value = TverskyLoss()(scores, mask) + 0.1 * total_variation(scores.sigmoid())
value.backward()
print(f"tversky {value.item():.6f} {scores.grad.abs().max().item():.6f}")
a, b = torch.randn(5, 6, requires_grad=True), torch.randn(5, 6)
value = NTXentLoss()(a, b)
value.backward()
print(f"contrastive {value.item():.6f} {a.grad.norm().item():.6f}", f"{(a.grad * a).sum(1).abs().max().item() < 1e-12}")
hinge = lovasz_hinge(scores.flatten(), mask.flatten().double())
print(f"lovasz {hinge.item():.6f} {torch.autograd.grad(hinge, scores)[0].norm().item():.6f}")
margin = {"hinge": F.hinge_embedding_loss(logits, (logits > 0).double() * 2 - 1), "soft": F.soft_margin_loss(logits, logits.detach().sign()),
          "multi": F.multilabel_soft_margin_loss(logits, F.one_hot(target, 4).double()), "poisson": F.poisson_nll_loss(logits, target[:, None].expand(8, 4).double(), full=True),
          "ranking": F.margin_ranking_loss(logits[:, 0], logits[:, 1], torch.ones(8), margin=0.5), "kl": F.kl_div(logits.log_softmax(1), logits.softmax(1).roll(1, 0).detach(), reduction="batchmean")}
print({k: f"{v.item():.6f}" for k, v in margin.items()})
print(nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0, 4.0]), label_smoothing=0.2)(logits, target))
