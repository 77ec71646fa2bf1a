"""Data sets of one's own: transforms, weights against imbalance, folds, streams, workers."""
import numpy as np
import torch
from torch.utils.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, SequentialSampler,
                              Subset, SubsetRandomSampler, WeightedRandomSampler, default_collate, random_split)

torch.manual_seed(0)
rng = np.random.RandomState(0)


class ToTensor:
    def __call__(self, sample):
        return {"image": torch.from_numpy(sample["image"].transpose((2, 0, 1))), "label": sample["label"]}


class Pictures(Dataset):
    def __init__(self, n, transform=None):
        self.images = rng.rand(n, 4, 4, 3).astype(np.float32)
        self.labels = (rng.rand(n) > 0.8).astype(np.int64)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        if torch.is_tensor(i):
            i = i.tolist()
        sample = {"image": self.images[i], "label": self.labels[i]}
        return self.transform(sample) if self.transform else sample


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(7))


pictures = Pictures(60, ToTensor())
weights = 1.0 / torch.tensor(np.bincount(pictures.labels), dtype=torch.float)
sampler = WeightedRandomSampler(weights[torch.from_numpy(pictures.labels)], len(pictures), replacement=True)
for batch in DataLoader(pictures, batch_size=16, sampler=sampler):
    print(batch["image"].shape, batch["image"].dtype, batch["label"].dtype, batch["label"].float().mean())
print(torch.stack([pictures[i]["image"].mean(dim=(1, 2)) for i in range(len(pictures))]).mean(0))
train, val = random_split(pictures, [0.75, 0.25], generator=torch.Generator().manual_seed(42))
print(len(train), val.indices, len(ConcatDataset([train, val])), Subset(pictures, [3, 5])[1]["label"])
for batch in DataLoader(Pictures(30), batch_size=10, sampler=SubsetRandomSampler(range(20))):
    print(batch["label"].tolist(), batch["image"].shape)


def collate(batch):
    return torch.stack([torch.as_tensor(s["image"]).flatten() for s in batch]), torch.tensor([s["label"] for s in batch])


shuffled = DataLoader(Pictures(20), batch_size=8, shuffle=True, collate_fn=collate, drop_last=True)
print(len(shuffled), [(x.shape, y.tolist()) for x, y in shuffled])
print(list(DataLoader(Stream(), batch_size=3)), default_collate([(1, 2.5, "a"), (2, 3.5, "b")]))
print(list(BatchSampler(SequentialSampler(range(7)), 3, False)))
print(list(DataLoader(list(range(12)), batch_size=4, num_workers=2)))
folds = torch.randperm(20).chunk(4)
for k in range(4):
    print(k, folds[k].tolist(), len(torch.cat([folds[j] for j in range(4) if j != k])))
