"""Embeddings learned by contrastive, triplet and cosine losses in twin networks, as in metric learning courses."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(6)
torch.set_default_dtype(torch.float64)


class Triplets(Dataset):
    def __init__(self, classes=4, per_class=5):
        self.labels = torch.arange(classes).repeat_interleave(per_class)
        self.data = torch.eye(classes)[self.labels] @ torch.randn(classes, 7) + 0.3 * torch.randn(classes * per_class, 7)
        self.generator = torch.Generator().manual_seed(3)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        same = ((self.labels == self.labels[i]) & (torch.arange(len(self)) != i)).nonzero().squeeze(1)
        other = (self.labels != self.labels[i]).nonzero().squeeze(1)
        pick = lambda pool: self.data[pool[torch.randint(len(pool), (1,), generator=self.generator)]].squeeze(0)
        return self.data[i], pick(same), pick(other), self.labels[i]


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        d = F.pairwise_distance(a, b, keepdim=False)
        return torch.mean(same * d.pow(2) + (1 - same) * torch.clamp(self.margin - d, min=0.0).pow(2))


dataset = Triplets()
loader = DataLoader(dataset, batch_size=8, shuffle=True, drop_last=True)
net = nn.Sequential(nn.Linear(7, 10), nn.PReLU(), nn.Linear(10, 3))
losses = {"triplet": nn.TripletMarginLoss(margin=1.0, swap=True), "contrastive": ContrastiveLoss(),
          "cosine": nn.CosineEmbeddingLoss(margin=0.2)}
opt = torch.optim.Adam(net.parameters(), lr=1e-2, amsgrad=True)
for epoch in range(4):
    sums = {name: 0.0 for name in losses}
    for anchor, positive, negative, label in loader:
        a, p, n = net(anchor), net(positive), net(negative)
        ones = torch.ones(len(a))
        values = {"triplet": losses["triplet"](a, p, n),
                  "contrastive": losses["contrastive"](torch.cat([a, a]), torch.cat([p, n]), torch.cat([ones, 0 * ones])),
                  "cosine": losses["cosine"](a, n, -ones)}
        opt.zero_grad()
        sum(values.values()).backward()
        opt.step()
        for name, value in values.items():
            sums[name] += value.item()
    print(epoch, {name: round(value, 4) for name, value in sums.items()})
with torch.no_grad():
    z = F.normalize(net(dataset.data), p=2, dim=1)
    similarity = z @ z.T
    similarity.fill_diagonal_(-2)
    nearest = similarity.topk(3, dim=1).indices
    recall = (dataset.labels[nearest] == dataset.labels[:, None]).any(dim=1).double().mean()
print("recall at 3", f"{recall.item():.4f}", torch.cdist(z, z).shape)
