"""Boxes, IoU, non-maximum suppression and a multibox loss written with tensor ops, as in detection tutorials."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def box_area(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def box_iou(a, b):
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    return inter / (box_area(a)[:, None] + box_area(b) - inter)


def nms(boxes, scores, threshold):
    order, keep = scores.argsort(descending=True), []
    while order.numel() > 0:
        i = order[0].item()
        keep.append(i)
        if order.numel() == 1:
            break
        iou = box_iou(boxes[i].unsqueeze(0), boxes[order[1:]]).squeeze(0)
        order = order[1:][iou <= threshold]
    return torch.as_tensor(keep)


def encode(matched, priors, variances=(0.1, 0.2)):
    centre = (matched[:, :2] + matched[:, 2:]) / 2 - priors[:, :2]
    centre /= variances[0] * priors[:, 2:]
    size = torch.log((matched[:, 2:] - matched[:, :2]) / priors[:, 2:]) / variances[1]
    return torch.cat([centre, size], 1)


xy = torch.rand(12, 2) * 6
boxes = torch.cat([xy, xy + 1 + 3 * torch.rand(12, 2)], dim=1)
scores = torch.rand(12)
truth, labels = torch.tensor([[0.0, 0.0, 3.0, 3.0], [4.0, 4.0, 8.0, 8.0]]), torch.tensor([2, 1])
iou = box_iou(boxes, truth)
print(iou.max(0))
print(nms(boxes, scores, 0.3))

best, match = iou.max(dim=1)
match_labels = torch.where(best > 0.1, labels[match], torch.zeros_like(match))
positive = match_labels > 0
priors = torch.cat([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], 1)
location = torch.zeros(12, 4, requires_grad=True)
confidence = torch.randn(12, 3).requires_grad_()
loss_location = F.smooth_l1_loss(location[positive], encode(truth[match], priors)[positive], reduction="sum")
all_losses = F.cross_entropy(confidence, match_labels, reduction="none")
mined = all_losses.detach().clone()
mined[positive] = 0
_, rank = mined.sort(descending=True)[1].sort()
negative = rank < 3 * positive.sum()
loss = (loss_location + all_losses[positive | negative].sum()) / positive.sum().clamp(min=1)
loss.backward()
print(positive.nonzero().flatten().tolist(), negative.long().sum().item())
print(f"loss {loss.item():.5f}")
print(location.grad.abs().sum(1).nonzero(as_tuple=True)[0], f"{confidence.grad.norm():.5f}")
