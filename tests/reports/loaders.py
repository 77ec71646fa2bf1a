"""Reports about loaders of data: batches, parts of data sets, order, collation."""

from __future__ import annotations

from typing import Any

from tests.reports.report import Reports

reports = Reports()


class Squares:
    """A data set that gives several rows at once, and notes what it was asked for."""

    def __init__(self, m: Any) -> None:
        self.rows, self.asked = m.arange(12.0).reshape(6, 2), []

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        self.asked.append(["one", index])
        return self.rows[index]

    def __getitems__(self, indices: Any) -> list[Any]:
        self.asked.append(["many", type(indices).__name__, list(indices)])
        return list(self.rows[list(indices)])


@reports("pytorch/pytorch/issues/154810", "a sampler of batches given as `sampler` is not a `batch_sampler`",
         still="each of its batches is then one index of an outer batch")
def batches_as_indices(m):
    d = m.utils.data
    data = d.TensorDataset(m.arange(12.0).reshape(6, 2))
    batches = d.BatchSampler(d.SequentialSampler(data), 2, drop_last=False)
    return [[list(each) for each in d.DataLoader(data, **{place: batches}, batch_size=size)]
            for place, size in (("batch_sampler", 1), ("sampler", None), ("sampler", 3))]


@reports("pytorch/pytorch/pull/154844", "`__getitems__` was called with one number instead of a list")
def what_getitems_is_asked(m):
    d, found = m.utils.data, []
    for options in ({"batch_size": 4}, {"batch_size": None}, {"batch_sampler": [(0, 1), [2], range(3, 5)]}):
        data = Squares(m)
        found.append([list(d.DataLoader(data, **options)), data.asked])
    return found


@reports("pytorch/pytorch/pull/172003", "a `TensorDataset` was asked for each row by itself")
def rows_of_a_tensor_dataset(m):
    d = m.utils.data
    data = d.TensorDataset(m.arange(4.0), m.arange(8).reshape(4, 2))
    return list(d.DataLoader(data, batch_size=3)), list(d.DataLoader(d.Subset(data, [3, 0, -1]), batch_size=2))


@reports("pytorch/pytorch/issues/163184", "a loader passes over the `__getitem__` of a subclass of `Subset`",
         still="`Subset.__getitems__` goes to the data set itself")
def subset_with_its_own_items(m):
    d = m.utils.data

    class Sums(d.Subset):
        def __getitem__(self, index):
            a, b = self.dataset[self.indices[index]]
            return a + b

    part = Sums(d.TensorDataset(m.arange(4.0), m.arange(10.0, 14.0)), [1, 3])
    return part[0], list(d.DataLoader(part, batch_size=2))


@reports("pytorch/pytorch/pull/163961", "it does where the subclass defines `__getitems__` as well")
def subset_with_both(m):
    d = m.utils.data

    class Sums(d.Subset):
        def __getitem__(self, index):
            return sum(self.dataset[self.indices[index]])

        def __getitems__(self, indices):
            return [self[index] for index in indices]

    part = Sums(d.TensorDataset(m.arange(4.0), m.arange(10.0, 14.0)), [1, 3])
    return list(d.DataLoader(part, batch_size=2)), list(d.DataLoader(part, batch_size=None))


@reports("meta-pytorch/data/issues/1440", "a loader that shuffles had the same order whatever the seed was")
def order_follows_the_seed(m):
    d, found = m.utils.data, []
    for seed in (0, 1, 0):
        m.manual_seed(seed)
        found.append([int(each) for each in d.DataLoader(range(6), batch_size=None, shuffle=True)])
    return found, found[0] == found[2]


@reports("meta-pytorch/data/pull/1441", "a sampler draws its seed anew in each round, or takes a generator's next")
def order_of_the_next_round(m):
    d = m.utils.data
    m.manual_seed(3)
    free, bound = d.RandomSampler(range(5)), d.RandomSampler(range(5), generator=m.Generator().manual_seed(3))
    return [list(free), list(free)], [list(bound), list(bound)]


@reports("meta-pytorch/data/issues/1437", "a state taken at the end of a round and loaded again skipped the next round")
def rounds_after_a_saved_state(m):
    generator = m.Generator().manual_seed(4)
    loader = m.utils.data.DataLoader(range(5), batch_size=2, shuffle=True, generator=generator)
    list(loader)
    saved = generator.get_state()
    again = m.Generator()
    again.set_state(saved)
    other = m.utils.data.DataLoader(range(5), batch_size=2, shuffle=True, generator=again)
    return list(loader), list(other)


@reports("goldener-data/goldener/pull/250", "lists of labels are turned by the default collation, one row per place")
def lists_are_turned(m):
    collate = m.utils.data.default_collate
    found = [collate([{"labels": [1, 2, 3], "name": "a"}, {"labels": [4, 5, 6], "name": "b"}])]
    try:
        collate([[1, 2], [3]])
    except RuntimeError as error:
        found.append(str(error))
    return found
