"""Graph convolution, attention and message passing by scatter and index_add on a small social network."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
torch.set_default_dtype(torch.float64)
edges = torch.tensor([[0, 0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 3], [1, 2, 3, 2, 3, 3, 4, 5, 6, 6, 7, 8, 8]])
edge_index = torch.cat([edges, edges.flip(0)], dim=1)
n = int(edge_index.max()) + 1
labels = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1])
features = torch.eye(n)


class GCNLayer(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.linear = nn.Linear(a, b, bias=False)
        self.bias = nn.Parameter(torch.zeros(b))

    def forward(self, x, edge_index):
        loops = torch.arange(n).expand(2, -1)
        row, col = torch.cat([edge_index, loops], dim=1)
        degree = torch.zeros(n).scatter_add_(0, col, torch.ones(len(col)))
        norm = degree.pow(-0.5)[row] * degree.pow(-0.5)[col]
        out = torch.zeros(n, self.linear.out_features)
        return out.index_add(0, col, norm.unsqueeze(-1) * self.linear(x)[row]) + self.bias


class GATLayer(nn.Module):
    def __init__(self, a, b, heads=2):
        super().__init__()
        self.W, self.heads = nn.Linear(a, b * heads, bias=False), heads
        self.att_src, self.att_dst = (nn.Parameter(torch.empty(1, heads, b)) for _ in range(2))
        nn.init.xavier_uniform_(self.att_src)
        nn.init.xavier_uniform_(self.att_dst)

    def forward(self, x, edge_index):
        src, dst = edge_index
        h = self.W(x).view(n, self.heads, -1)
        alpha = F.leaky_relu((h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(-1)[dst], 0.2)
        index = dst.unsqueeze(-1).expand_as(alpha)
        largest = torch.full((n, self.heads), -torch.inf).scatter_reduce(0, index, alpha.detach(), reduce="amax")
        weight = (alpha - largest[dst]).exp()
        weight = weight / torch.zeros(n, self.heads).scatter_add(0, index, weight)[dst]
        out = torch.zeros_like(h).index_add_(0, dst, h[src] * weight.unsqueeze(-1))
        return out.flatten(1)


class Net(nn.Module):
    def __init__(self, layer1, layer2):
        super().__init__()
        self.conv1, self.conv2 = layer1, layer2

    def forward(self, x, edge_index):
        h = F.elu(self.conv1(x, edge_index))
        return self.conv2(h, edge_index)


mask = torch.zeros(n, dtype=torch.bool)
mask[[0, 8]] = True
for name, net in (("gcn", Net(GCNLayer(n, 6), GCNLayer(6, 2))), ("gat", Net(GATLayer(n, 4), GATLayer(8, 1)))):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05, weight_decay=5e-4)
    for epoch in range(12):
        out = net(features, edge_index).log_softmax(dim=-1)
        loss = F.nll_loss(out[mask], labels[mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{name} loss {loss.item():.6f} accuracy {(out.argmax(1) == labels).double().mean():.4f}")
adjacency = torch.zeros(n, n).index_put_((edge_index[0], edge_index[1]), torch.ones(edge_index.shape[1]))
laplacian = torch.diag(adjacency.sum(1)) - adjacency
values, vectors = torch.linalg.eigh(laplacian)
print(values[:3].round(decimals=4), adjacency.matrix_power(3).diagonal().sum().item() / 6)
print((vectors[:, 1].sign() * vectors[0, 1].sign()).int().tolist())
x = features.clone().requires_grad_()
net(x, edge_index)[4].sum().backward()
print(x.grad.abs().sum(1).gt(0).nonzero().flatten().tolist())
