"""Trains a small LeNet on pictures of stripes, as the first example of many image courses does."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.set_default_dtype(torch.float64)
torch.manual_seed(1)


class LeNet(nn.Module):
    def __init__(self, classes=3):
        super(LeNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.conv2 = nn.Conv2d(4, 8, kernel_size=(3, 3))
        self.dropout = nn.Dropout2d(0.25)
        self.fc1 = nn.Linear(8 * 2 * 2, 16)
        self.fc2 = nn.Linear(16, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(x)
        x = torch.flatten(x, 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def batch(n):
    labels = torch.randint(0, 3, (n,))
    rows = torch.arange(12).view(12, 1).expand(12, 12)
    columns = rows.t()
    kinds = torch.stack([rows % 3 == 0, columns % 3 == 0, (rows + columns) % 3 == 0]).to(torch.get_default_dtype())
    return kinds[labels].unsqueeze(1) + 0.3 * torch.randn(n, 1, 12, 12), labels


model = LeNet()
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
print(model)
for step in range(12):
    data, target = batch(16)
    optimizer.zero_grad()
    loss = F.nll_loss(model(data), target)
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        print("step {:2d}  loss {:.5f}  grad norm {:.5f}".format(
            step, loss.item(), sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt().item()))
model.eval()
with torch.no_grad():
    data, target = batch(60)
    output = model(data)
    test_loss = F.nll_loss(output, target, reduction="sum").item() / len(target)
    correct = output.argmax(dim=1, keepdim=True).eq(target.view_as(output.argmax(dim=1, keepdim=True))).sum().item()
print(f"test loss {test_loss:.5f}, accuracy {correct}/{len(target)}")
