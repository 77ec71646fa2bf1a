"""A small network on points in the plane: device, loaders, training, evaluation, a confusion matrix."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset, random_split


def set_seed(seed):
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


class Net(nn.Module):
    def __init__(self, width=16):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(2, width)
        self.bn = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(0.2)
        self.fc2 = nn.Linear(width, 3)

    def forward(self, x):
        x = self.drop(F.relu(self.bn(self.fc1(x))))
        return self.fc2(x)


set_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(f"Using {device}")
labels = torch.randint(3, (300,))
centers = torch.tensor([[0.0, 2.0], [2.0, 0.0], [-2.0, -1.0]])
points = centers[labels] + 0.9 * torch.randn(300, 2)
points = (points - points.mean(0)) / points.std(0)
train_set, test_set = random_split(TensorDataset(points, labels), [240, 60])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True, num_workers=0, pin_memory=False)
test_loader = DataLoader(test_set, batch_size=64)

model = Net().to(device)
print(model)
print(f"{sum(p.numel() for p in model.parameters() if p.requires_grad):,} parameters")
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
for epoch in range(5):
    model.train()
    running = 0.0
    for inputs, targets in train_loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        running += loss.item() * inputs.size(0)
    scheduler.step()
    print(f"epoch {epoch + 1}: loss {running / len(train_set):.4f}, lr {scheduler.get_last_lr()[0]:.3f}")

model.eval()
confusion = torch.zeros(3, 3, dtype=torch.int64)
with torch.no_grad():
    for inputs, targets in test_loader:
        _, predicted = torch.max(model(inputs.to(device)), 1)
        for t, p in zip(targets.view(-1), predicted.cpu().view(-1)):
            confusion[t.long(), p.long()] += 1
print(confusion)
print("accuracy: %.1f %%" % (100 * confusion.diag().sum().item() / confusion.sum().item()))
recall = confusion.diag().float() / confusion.sum(1)
print(recall, recall.numpy().round(2), recall.mean())
