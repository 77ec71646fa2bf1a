"""Plays Conway's game of life with a convolution that counts neighbours, and again with rolls, on a torus."""

import torch
import torch.nn as nn
import torch.nn.functional as F

KERNEL = torch.tensor([[1, 1, 1], [1, 0, 1], [1, 1, 1]])


def show(board):
    for row in board.int().squeeze().tolist():
        print("".join("#" if c else "." for c in row))


def step_conv(board):
    padded = F.pad(board[None, None].float(), (1, 1, 1, 1), mode="circular")
    neighbours = F.conv2d(padded, KERNEL[None, None].float())[0, 0].round().long()
    return ((neighbours == 3) | (board & (neighbours == 2))).bool()


def step_roll(board):
    n = sum(torch.roll(board.byte(), shifts=(i, j), dims=(0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return torch.where(board, (n == 2) | (n == 3), n == 3)


class Life(nn.Module):
    """The same rule as a layer with fixed weights."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular", bias=False)
        with torch.no_grad():
            self.conv.weight.copy_(KERNEL)
            self.conv.weight[0, 0, 1, 1] = 0.5
        self.conv.requires_grad_(False)

    def forward(self, x):
        s = self.conv(x)
        return s.gt(2.4).logical_and_(s < 3.6).to(x)


board = torch.zeros(8, 8, dtype=torch.bool)
glider = torch.tensor([[0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=torch.bool)
board[1:4, 1:4] = glider
show(board)
life = Life()
print(life)
start = board.clone()
for generation in range(1, 33):
    by_roll, by_layer = step_roll(board), life(board[None, None].float())
    board = step_conv(board)
    assert torch.equal(board, by_roll) and torch.equal(board, by_layer[0, 0].bool())
    if generation in (4, 16, 32):
        print("generation", generation, "alive", board.sum().item(), "moved by one:", board.equal(start.roll((1, 1), (0, 1))), "home:", board.equal(start))
        print(board.nonzero().T)

torch.manual_seed(3)
soup = torch.rand(16, 16) < 0.35
history = [soup.sum().item()]
seen = {tuple(soup.flatten().tolist()): 0}
for t in range(1, 60):
    soup = step_conv(soup)
    history.append(int(soup.sum()))
    key = tuple(soup.flatten().tolist())
    if key in seen:
        break
    seen[key] = t
print(history[:20], len(history), soup.sum(0), soup.any(1).tolist().count(True))
show(soup)
print(soup.dtype, (~soup).sum(), soup.float().mean(), soup.char().dtype, F.avg_pool2d(soup[None].float(), 4), F.unfold(soup[None, None].float(), 4, stride=4).sum(1))
