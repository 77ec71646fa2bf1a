"""Does principal component analysis by SVD, by eigh of the covariance and by power iteration, with a fit/transform class."""

import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class PCA(nn.Module):
    def __init__(self, n_components):
        super().__init__()
        self.n_components = n_components
        self.register_buffer("mean_", None)
        self.register_buffer("components_", None)

    @staticmethod
    def _svd_flip(u, v):
        max_abs_cols = torch.argmax(torch.abs(u), dim=0)
        signs = torch.sign(u[max_abs_cols, torch.arange(u.shape[1])])
        return u * signs, v * signs.view(-1, 1)

    @torch.no_grad()
    def fit(self, X):
        n, d = X.size()
        self.mean_ = X.mean(0, keepdim=True)
        U, S, Vh = torch.linalg.svd(X - self.mean_, full_matrices=False)
        U, Vh = self._svd_flip(U, Vh)
        self.components_ = Vh[: self.n_components]
        self.explained_variance_ = S[: self.n_components] ** 2 / (n - 1)
        self.explained_variance_ratio_ = self.explained_variance_ / (S ** 2).sum().div(n - 1)
        return self

    def forward(self, X):
        return torch.matmul(X - self.mean_, self.components_.t())

    transform = forward

    def fit_transform(self, X):
        return self.fit(X).transform(X)

    def inverse_transform(self, Y):
        return Y @ self.components_ + self.mean_


latent = torch.randn(60, 2) * torch.tensor([3.0, 1.0])
X = latent @ torch.randn(2, 5) + 0.1 * torch.randn(60, 5) + torch.arange(5.0)
pca = PCA(n_components=2)
Y = pca.fit_transform(X)
print(pca, Y.shape, Y[:3], sep="\n")
print(pca.explained_variance_, pca.explained_variance_ratio_)
print(torch.nn.functional.mse_loss(pca.inverse_transform(Y), X), list(pca.state_dict()), [tuple(b.shape) for b in pca.buffers()])

values, vectors = torch.linalg.eigh(torch.cov(X.T))
values, vectors = values.flip(0), vectors.flip(1)
print(values, torch.allclose(values[:2], pca.explained_variance_))
print((vectors[:, :2].T @ pca.components_.T).abs().round(decimals=4))

v = torch.ones(5)
C = (X - X.mean(0)).T @ (X - X.mean(0)) / (len(X) - 1)
for i in range(40):
    v = C @ v
    v /= v.norm()
print(v @ C @ v, torch.abs(v @ pca.components_[0]))

whitened = Y / pca.explained_variance_.sqrt()
print(torch.cov(whitened.T).sub(torch.eye(2)).abs().max() < 1e-10, whitened.abs().sum())
zca = vectors @ torch.diag(values.rsqrt()) @ vectors.T
print(zca.diagonal(), torch.dist(zca @ C @ zca, torch.eye(5)) < 1e-9)
U, S, V = torch.pca_lowrank(X, q=2, niter=4)
print(U.shape, S, torch.allclose(S ** 2 / 59, pca.explained_variance_), V.shape)

# an autoencoder without nonlinearities finds the same subspace
enc = nn.Parameter(torch.randn(2, 5) * 0.1)
optimizer = torch.optim.LBFGS([enc], lr=1, max_iter=30, line_search_fn="strong_wolfe")
centred = X - X.mean(0)
loss = optimizer.step(lambda: (optimizer.zero_grad(), l := (centred - centred @ enc.T @ enc).pow(2).mean(), l.backward())[1])
print(f"{loss:.4f}", torch.linalg.svdvals(enc.detach()), f"{(centred - centred @ enc.T @ enc).pow(2).mean().item():.5f}")
