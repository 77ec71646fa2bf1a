"""Errors of what is around a step: optimizers, modules, state dicts, files, loaders, several processes, memory."""

import collections
import io
import sys
import types

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tests.widgets.doctor.raised import raises


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(3)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@raises("empty-optimizer", "model, a Stack, has no parameters", "self.layers is a list of 3 modules",
        mend="self.layers = nn.ModuleList(self.layers)")
def layers_in_a_list():
    model = Stack()
    return torch.optim.Adam(model.parameters(), lr=1e-3)  # <-


@raises("empty-optimizer", "parameters", mend="list(")
def a_generator_that_is_used_up():
    model = nn.Linear(2, 2)
    parameters = model.parameters()
    print(sum(p.numel() for p in parameters))
    return torch.optim.SGD(parameters, lr=0.1)  # <-


@raises("optimizer-groups", mend="")
def a_head_in_two_groups():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    return torch.optim.SGD([{"params": model.parameters()}, {"params": model[1].parameters(), "lr": 1.0}],  # <-
                           lr=0.1)


@raises("optimizer-groups", mend="optimizer = type(optimizer)(model.parameters())")
def the_optimizer_of_a_smaller_model():
    old = torch.optim.Adam(nn.Linear(2, 2).parameters())
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.load_state_dict(old.state_dict())  # <-


class Early(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(2, 2)  # <-
        super().__init__()


@raises("module-not-initialised", "Early", mend="super().__init__()")
def super_that_comes_too_late():
    return Early()


class Typo(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc2(x)  # <-


@raises("no-attribute", "Typo", "fc2", "It has fc1", mend="self.fc1")
def a_layer_that_was_renamed():
    model = Typo()
    return model(torch.rand(1, 2))


class Indented(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

        def forward(self, x):
            return self.fc(x)


@raises("no-forward", "Indented", mend="def forward(self, x)")
def forward_inside_init():
    model = Indented()
    return model(torch.rand(1, 2))  # <-


class Forward(nn.Module):
    def forward(self, x):
        return x


@raises("wrong-arguments", "Forward.forward", "x", mend="model(x)")
def one_argument_too_many():
    model = Forward()
    x, mask = torch.rand(1, 2), torch.ones(1)
    return model(x, mask)  # <-


@raises("state-dict-mismatch", "missing", "fc.weight", "module.fc.weight", mend="removeprefix('module.')")
def a_state_dict_of_data_parallel():
    model = nn.Sequential(collections.OrderedDict(fc=nn.Linear(2, 2)))
    state = {f"module.{name}": value for name, value in model.state_dict().items()}
    model.load_state_dict(state)  # <-


@raises("state-dict-mismatch", "2.weight", "torch.Size([1000, 8])", "torch.Size([10, 8])", mend="del state[")
def a_head_for_other_classes():
    pretrained = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1000))
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
    state = pretrained.state_dict()
    model.load_state_dict(state)  # <-


def saved(value):
    """A file with a value, as torch.save writes it."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


@raises("weights-only", "tests.widgets.doctor.raised.setups.Forward", mend="torch.load(checkpoint, weights_only=False)")
def a_whole_model_in_a_file():
    checkpoint = saved(Forward())
    return torch.load(checkpoint, weights_only=True)  # <-


@raises("missing-class", "Gone", mend="state_dict")
def a_class_that_was_moved():
    sys.modules["research"] = types.ModuleType("research")
    gone = type("Gone", (nn.Module,), {"__module__": "research"})
    sys.modules["research"].Gone = gone
    checkpoint = saved(gone())
    del sys.modules["research"].Gone
    return torch.load(checkpoint, weights_only=False)  # <-


@raises("no-cuda", mend='torch.load(checkpoint, map_location="cpu")')
def a_checkpoint_from_a_gpu():
    tag = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: "cuda:0"
    try:
        checkpoint = saved(torch.rand(2))
    finally:
        torch.serialization.location_tag = tag
    return torch.load(checkpoint)  # <-


@raises("broken-file", mend="")
def a_file_that_was_cut_short():
    checkpoint = io.BytesIO(saved(torch.rand(1000)).getvalue()[:2000])
    return torch.load(checkpoint)  # <-


class Images(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return torch.rand(3), self.files[i]  # <-


@raises("loader-worker", "Images.__getitem__", "worker process 0", "IndexError: list index out of range",
        mend="num_workers=0")
def a_file_too_few():
    loader = DataLoader(Images([0, 1, 2]), batch_size=2, num_workers=1)
    for images, labels in loader:
        print(images.shape, labels)


class Sounds(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return torch.rand(10 + i)


@raises("loader-worker", "worker process 0", "The first is [10], number 1 is [11]", mend="collate_fn")
def sounds_of_several_lengths_in_workers():
    loader = DataLoader(Sounds(), batch_size=2, num_workers=1)
    for batch in loader:  # <-
        print(batch.shape)


class Optional(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return None


@raises("collate-type", "NoneType", mend="collate_fn")
def a_dataset_that_returns_none():
    loader = DataLoader(Optional(), batch_size=2)
    return next(iter(loader))  # <-


@raises("empty-dataset", "num_samples=0", mend="print(len(")
def a_folder_without_files():
    return DataLoader([], batch_size=2, shuffle=True)  # <-


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)
        self.extra = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.body(x))


@raises("ddp-unused", "extra.weight", "extra.bias", mend="find_unused_parameters=True")
def a_head_that_is_never_called():
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(TwoHeads())
        for _ in range(2):
            loss = model(torch.rand(8, 4)).sum()  # <-
            loss.backward()
    finally:
        torch.distributed.destroy_process_group()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(64, 64)

    def forward(self, x, length):
        mask = torch.ones(length, length)  # <-
        return self.proj(x) * mask.tril()


@raises("out-of-memory", "model, Attention", "1 PiB", "held", "hidden = torch.relu", "holds 128 KiB",
        mend="torch.no_grad()")
def a_mask_of_a_long_sequence():
    model = Attention()
    hidden = torch.relu(model.proj(torch.rand(256, 64)))
    model(hidden, 1 << 24).sum().backward()


@raises("scaler", "optimizer", mend="scaler.update()")
def unscaled_twice():
    model, scaler = nn.Linear(2, 1), torch.amp.GradScaler("cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in torch.rand(2, 4, 2):
        scaler.scale(model(x).mean()).backward()
        scaler.unscale_(optimizer)  # <-
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)


@raises("padding-lengths", "lengths", mend="lengths.cpu()")
def lengths_that_are_not_on_the_cpu():
    words, lengths = torch.rand(3, 4, 2), torch.tensor([4, 3, 2], device="meta")
    return nn.utils.rnn.pack_padded_sequence(words, lengths, batch_first=True)  # <-


@raises("no-cuda", "numpy", mend="x.cpu().numpy()")
def numpy_of_another_device():
    x = torch.rand(3, device="meta")
    return np.asarray(F.relu(x).numpy())  # <-
