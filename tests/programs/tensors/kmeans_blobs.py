"""Clusters blobs of points with k-means++ and Lloyd's iterations in plain tensor code, like many small clustering packages."""

import torch


class KMeans:
    def __init__(self, n_clusters=3, max_iter=50, tol=1e-6, verbose=False):
        self.n_clusters, self.max_iter, self.tol, self.verbose = n_clusters, max_iter, tol, verbose
        self.centroids = None

    def _init(self, x):
        centroids = torch.empty(self.n_clusters, x.size(1), dtype=x.dtype)
        centroids[0] = x[torch.randint(0, len(x), (1,))]
        for i in range(1, self.n_clusters):
            d = torch.cdist(x, centroids[:i]).min(dim=1)[0] ** 2
            centroids[i] = x[torch.multinomial(d / d.sum(), 1).item()]
        return centroids

    @torch.no_grad()
    def fit(self, x):
        self.centroids = self._init(x)
        self.history = []
        for it in range(self.max_iter):
            labels = self.predict(x)
            mask = torch.nn.functional.one_hot(labels, self.n_clusters).to(x.dtype)
            counts = mask.sum(dim=0).unsqueeze(1)
            new = mask.t().mm(x).div_(counts.clamp_(min=1))
            shift = (new - self.centroids).norm(dim=1).max()
            self.centroids.copy_(new)
            self.history.append(self.inertia(x))
            if self.verbose:
                print(f"iter {it}: inertia {self.history[-1]:.4f}, shift {shift:.5f}, sizes {counts.squeeze(1).int().tolist()}")
            if shift < self.tol:
                break
        return self

    def predict(self, x):
        return torch.cdist(x, self.centroids).argmin(dim=-1)

    def inertia(self, x):
        return torch.cdist(x, self.centroids).amin(1).pow(2).sum().item()

    def __repr__(self):
        return f"{self.__class__.__name__}(n_clusters={self.n_clusters}, fitted={self.centroids is not None})"


torch.manual_seed(11)
centers = torch.tensor([[0.0, 0.0], [5.0, 5.0], [-4.0, 4.0]], dtype=torch.float64)
truth = torch.arange(3).repeat_interleave(30)
x = centers[truth] + 0.8 * torch.randn(90, 2, dtype=torch.float64)
shuffle = torch.randperm(len(x))
x, truth = x[shuffle], truth[shuffle]

model = KMeans(verbose=True)
print(model)
model.fit(x)
print(model, model.predict(x[:10]))
order = model.centroids[:, 0].argsort()
print(model.centroids[order])
agreement = torch.stack([torch.bincount(truth[model.predict(x) == k], minlength=3) for k in order])
print(agreement, agreement.max(1).values.sum().item() / len(x), sep="\n")
for k in range(1, 5):
    torch.manual_seed(k)
    print(k, f"{KMeans(k).fit(x).history[-1]:.3f}")


def silhouette(x, labels):
    d = torch.cdist(x, x)
    same = labels[:, None] == labels[None, :]
    a = d.where(same, torch.zeros_like(d)).sum(1) / (same.sum(1) - 1)
    b = torch.stack([d[:, labels == k].mean(1).masked_fill(labels == k, float("inf")) for k in labels.unique()]).min(0).values
    return ((b - a) / torch.max(a, b)).mean()


print("silhouette", silhouette(x, model.predict(x)))
