"""Datasets, samplers and collate functions as training scripts combine them, with every shuffle from a seed."""
import torch
from torch.utils.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler,
                              SequentialSampler, Subset, SubsetRandomSampler, TensorDataset, WeightedRandomSampler,
                              default_collate, random_split)

torch.manual_seed(10)


class Squares(Dataset):
    def __init__(self, n, transform=None):
        self.n, self.transform = n, transform

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        sample = {"x": torch.tensor([i, i * i], dtype=torch.float32), "y": i % 3, "name": f"item{i}"}
        return self.transform(sample) if self.transform else sample


class Stream(IterableDataset):
    def __iter__(self):
        value = torch.tensor(1.0)
        for _ in range(5):
            value = value * 1.5
            yield value


dataset = Squares(10, transform=lambda s: {**s, "x": s["x"] / 10})
batch = next(iter(DataLoader(dataset, batch_size=4)))
print({k: (v.shape, v.dtype) if torch.is_tensor(v) else v for k, v in batch.items()})
for shuffle in (True, True):
    print([b["y"].tolist() for b in DataLoader(dataset, batch_size=4, shuffle=shuffle)])
train, valid, test = random_split(range(10), [0.6, 0.2, 0.2], generator=torch.Generator().manual_seed(1))
print(list(train), list(valid), list(test))
weights = torch.tensor([0.1, 0.1, 0.8])[torch.arange(10) % 3]
sampler = WeightedRandomSampler(weights, num_samples=12, replacement=True, generator=torch.Generator().manual_seed(2))
print(torch.bincount(torch.tensor([i % 3 for i in sampler]), minlength=3))
print(list(BatchSampler(SequentialSampler(range(7)), batch_size=3, drop_last=True)), list(SubsetRandomSampler([1, 5, 9])))
both = ConcatDataset([Subset(dataset, [1, 3]), Squares(2)])
print(len(both), both[-1]["name"], both.cumulative_sizes)
tensors = TensorDataset(torch.arange(6.0).view(3, 2), torch.tensor([0, 1, 2]))
print(tensors[1], len(tensors))
loader = DataLoader(Stream(), batch_size=2)
print([b.tolist() for b in loader])
print(default_collate([(1, {"a": 2.0}), (3, {"a": 4.0})]))
padded = DataLoader([torch.ones(n) for n in (1, 3, 2)], batch_size=3,
                    collate_fn=lambda b: torch.nn.utils.rnn.pad_sequence(b, batch_first=True))
print(next(iter(padded)))
print(list(RandomSampler(range(5), replacement=True, num_samples=6)), len(DataLoader(dataset, batch_size=3, drop_last=True)))
try:
    DataLoader(dataset, batch_size=2, sampler=sampler, shuffle=True)
except ValueError as error:
    print(error)
