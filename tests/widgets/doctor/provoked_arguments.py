"""Programs whose ops get what they do not take: the name of each begins with the rule that explains it.

Each has the part of the second sentence that only this program makes.
"""

from __future__ import annotations

__all__ = ["SAID"]

SAID = {}


def says(sentence):
    def keep(program):
        SAID[program.__name__] = program, sentence
        return program
    return keep


@says("takes 12 features and got 16.")
def shape_mismatch__linear(torch):
    torch.nn.Linear(12, 3)(torch.ones(4, 16))


@says("The op takes 5 features and got 4.")
def shape_mismatch__product(torch):
    torch.ones(3, 4) @ torch.ones(5, 2)


@says("In dimension 1 one has 3 entries and the other 4, and neither has 1.")
def shape_mismatch__sum(torch):
    torch.ones(2, 3) + torch.ones(2, 4)


@says("In dimension 1 it has 3 entries, which is neither 1 nor 4.")
def shape_mismatch__expand(torch):
    torch.ones(2, 3).expand(2, 4)


@says("[2, 5] does not have 12 elements.")
def shape_mismatch__view(torch):
    torch.ones(3, 4).view(2, 5)


@says("the elements do not lie in this order in memory.")
def shape_mismatch__view_of_a_transpose(torch):
    torch.ones(3, 4).t().view(12)


@says("They may differ in dimension 0 only; tensor 1 has 4 elsewhere where 3 are expected.")
def shape_mismatch__cat(torch):
    torch.cat([torch.ones(2, 3), torch.ones(2, 4)])


@says("The first is [3], number 1 is [4].")
def shape_mismatch__batch_of_unequal_rows(torch):
    rows = [(torch.ones(3), 0), (torch.ones(4), 1)]
    next(iter(torch.utils.data.DataLoader(rows, batch_size=2)))


@says("takes 3 channels and got 1, in an input of shape [2, 1, 8, 8].")
def shape_mismatch__channels(torch):
    torch.nn.Conv2d(3, 4, 3)(torch.ones(2, 1, 8, 8))


@says("takes a 3D (unbatched) or 4D (batched) input and got [2, 64].")
def shape_mismatch__flat_images(torch):
    torch.nn.Conv2d(1, 4, 3)(torch.ones(2, 64))


@says("The image has become smaller than the window that goes over it.")
def shape_mismatch__small_image(torch):
    torch.nn.Conv2d(1, 4, 5)(torch.ones(2, 1, 3, 3))


@says("There are 6 predictions and 2 targets.")
def shape_mismatch__targets(torch):
    torch.nn.functional.cross_entropy(torch.ones(6, 3), torch.tensor([0, 1]))


@says("normalises [8] and got [2, 4].")
def shape_mismatch__layer_norm(torch):
    torch.nn.LayerNorm(8)(torch.ones(2, 4))


@says("takes 8 features and got 4.")
def shape_mismatch__lstm(torch):
    torch.nn.LSTM(8, 3)(torch.ones(5, 2, 4))


@says("has 8 channels and got 4.")
def shape_mismatch__batch_norm(torch):
    torch.nn.BatchNorm1d(8)(torch.ones(2, 4))


@says("got something of another number of dimensions.")
def shape_mismatch__matrix_into_bmm(torch):
    torch.bmm(torch.ones(2, 3), torch.ones(3, 2))


@says("One is [3], the other [4].")
def shape_mismatch__dot(torch):
    torch.dot(torch.ones(3), torch.ones(4))


@says("got an index that is no part of the tensor's shape.")
def shape_mismatch__row_of_actions(torch):
    torch.ones(2, 4).gather(1, torch.tensor([0, 3]))


@says("One is Double, the other Float.")
def dtype_mismatch__numpys_default(torch):
    torch.nn.Linear(2, 3)(torch.ones(4, 2, dtype=torch.float64))


@says("One is Double, and Float was expected.")
def dtype_mismatch__probabilities(torch):
    torch.nn.functional.binary_cross_entropy(torch.ones(2), torch.ones(2, dtype=torch.float64))


@says("and got Float.")
def dtype_mismatch__classes_as_floats(torch):
    torch.nn.functional.nll_loss(torch.ones(2, 3), torch.tensor([0.0, 1.0]))


@says("got Float.")
def dtype_mismatch__embedding(torch):
    torch.nn.Embedding(5, 2)(torch.ones(3))


@says("The input is double, the weights are float.")
def dtype_mismatch__convolution(torch):
    torch.nn.Conv1d(1, 1, 1)(torch.ones(1, 1, 3, dtype=torch.float64))


@says("The result is Float, and the tensor is Long.")
def dtype_mismatch__in_place(torch):
    x = torch.arange(3)
    x *= 0.5


@says("They are Long.")
def dtype_mismatch__mean(torch):
    torch.arange(3).mean()


@says("There is a target 3.")
def index_out_of_range__class(torch):
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 3]))


@says("Embedding(5, 2) does not have it. From 5 to 5 came in.")
def index_out_of_range__token(torch):
    torch.nn.Embedding(5, 2)(torch.tensor([5]))


@says("Dimension 0 has 3 entries, and number 3 was asked for.")
def index_out_of_range__element(torch):
    torch.ones(3)[3]


@says("It has -1 to 0, and 1 was asked for.")
def index_out_of_range__dimension(torch):
    torch.ones(3).sum(1)


@says("They are its input.")
def value_out_of_range__scores(torch):
    torch.nn.functional.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.0]))


@says("They are its target.")
def value_out_of_range__labels(torch):
    torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([2.0]))


@says("got torch.Size([1, 4]).")
def one_value_per_channel__batch_of_one(torch):
    torch.nn.BatchNorm1d(4)(torch.ones(1, 4))


@says("It has 2.")
def several_elements__item(torch):
    torch.ones(2).item()


@says("where Python wants true or false.")
def several_elements__if(torch):
    if torch.ones(2) > 0:
        pass


@says("It was loaded into Linear.")
def state_dict_mismatch__width(torch):
    torch.nn.Linear(2, 3).load_state_dict(torch.nn.Linear(2, 4).state_dict())
