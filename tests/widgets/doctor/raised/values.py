"""Errors of dtypes, devices, indices, ranges, and of values that are no tensors."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.widgets.doctor.raised import raises


@raises("dtype-mismatch", "model.0, Linear(in_features=4", "Double", "Float", "features float64 of shape (8, 4)",
        mend="features = features.float()")
def features_from_numpy():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    features = torch.from_numpy(np.random.rand(8, 4))
    return model(features)  # <-


@raises("dtype-mismatch", "labels float32 of shape (8,)", mend="labels = labels.long()")
def classes_that_are_floats():
    criterion = nn.CrossEntropyLoss()
    outputs, labels = torch.rand(8, 3), torch.ones(8)
    return criterion(outputs, labels)  # <-


@raises("dtype-mismatch", "labels int32 of shape (8,)", mend="labels = labels.long()")
def classes_that_are_ints():
    outputs, labels = torch.rand(8, 3), torch.ones(8, dtype=torch.int32)
    return F.cross_entropy(outputs, labels)  # <-


@raises("dtype-mismatch", "labels int64 of shape (8,)", mend="labels = labels.float()")
def binary_labels_that_are_integers():
    outputs, labels = torch.rand(8), torch.ones(8, dtype=torch.long)
    return F.binary_cross_entropy(outputs, labels)  # <-


@raises("dtype-mismatch", "embedding, Embedding(10, 4)", "Float", mend="words = words.long()")
def words_that_are_floats():
    embedding = nn.Embedding(10, 4)
    words = torch.ones(2, 3)
    return embedding(words)  # <-


@raises("dtype-mismatch", "model.0, Conv2d", "The input is unsigned char, the weights are float",
        "image uint8", mend="image = image.float() / 255")
def an_image_of_bytes():
    model = nn.Sequential(nn.Conv2d(3, 4, 3))
    image = torch.zeros(1, 3, 8, 8, dtype=torch.uint8)
    return model(image)  # <-


@raises("dtype-mismatch", "They are Long", mend="correct.float().mean()")
def accuracy_of_integers():
    correct = torch.tensor([1, 0, 1])
    return correct.mean()  # <-


@raises("dtype-mismatch", "order float32 of shape (3,)", mend="order = order.long()")
def an_order_of_floats():
    x, order = torch.rand(3, 2), torch.tensor([2.0, 0.0, 1.0])
    return x[order]  # <-


@raises("other-device", "meta", "batch", mend="batch = batch.to(")
def a_batch_on_another_device():
    model = nn.Sequential(nn.Linear(4, 2)).to("meta")
    batch = torch.rand(8, 4)
    return model(batch)  # <-


@raises("no-cuda", mend="torch.cuda.is_available()")
def cuda_that_is_not_there():
    return torch.rand(3).cuda()  # <-


@raises("index-out-of-range", "Target 3 is out of bounds", "There is a target 3. The scores have 3 classes",
        "outputs float32 of shape (8, 3)", "labels int64 of shape (8,), from 3 to 3", mend="labels = labels - 1")
def classes_that_count_from_one():
    criterion = nn.CrossEntropyLoss()
    outputs, labels = torch.rand(8, 3), torch.full((8,), 3)
    return criterion(outputs, labels)  # <-


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 8)  # made

    def forward(self, tokens):
        return self.table(tokens)  # <-


@raises("index-out-of-range", "words.table, Embedding(100, 8)", "tokens int64 of shape (1, 3), from 5 to 100",
        mend="self.table = nn.Embedding(101, 8)")
def a_token_beyond_the_vocabulary():
    words = Words()
    return words(torch.tensor([[5, 99, 100]]))


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Embedding(8, 4)  # made

    def forward(self, tokens):
        return tokens.unsqueeze(-1) * self.places(torch.arange(tokens.size(1)))  # <-


@raises("index-out-of-range", "model.places, Embedding(8, 4), does not have it. From 0 to 8 came in.",
        mend="self.places = nn.Embedding(9, 4)")
def a_text_longer_than_its_positions():
    model = Positions()
    return model(torch.ones(2, 9))


@raises("index-out-of-range", "Dimension 0 has 10 entries, and number 10 was asked for", "x float32",
        mend="")
def one_row_too_far():
    x = torch.rand(10, 2)
    for i in range(11):
        x[i]  # <-


@raises("index-out-of-range", "actions int64 of shape (2, 1), from 0 to 4", "q float32 of shape (2, 4)", mend="")
def an_action_that_does_not_exist():
    q, actions = torch.rand(2, 4), torch.tensor([[0], [4]])
    return q.gather(1, actions)  # <-


@raises("index-out-of-range", "It has -1 to 0, and 1 was asked for", "scores float32 of shape (10,)", mend="scores")
def argmax_without_a_batch():
    scores = torch.rand(10)
    return scores.argmax(dim=1)  # <-


@raises("index-out-of-range", "labels int64 of shape (3,), from 1 to 3", mend="num_classes")
def one_hot_that_counts_from_one():
    labels = torch.tensor([1, 2, 3])
    return F.one_hot(labels, num_classes=3)  # <-


@raises("value-out-of-range", "scores float32", "from -2 to 3", mend="F.binary_cross_entropy_with_logits(scores, y)")
def scores_into_bce():
    scores, y = torch.tensor([-2.0, 3.0]), torch.tensor([0.0, 1.0])
    return nn.BCELoss()(scores, y)  # <-


@raises("value-out-of-range", "probs float32", "nan", mend="nan_to_num")
def a_policy_that_diverged():
    probs = torch.tensor([0.5, float("nan")])
    return torch.multinomial(probs, 1)  # <-


@raises("value-out-of-range", "loc", "mean float32 of shape (2,)", "nan", mend="torch.isfinite(mean)")
def a_distribution_of_nan():
    mean = torch.tensor([0.0, float("nan")])
    return torch.distributions.Normal(mean, 1.0, validate_args=True)  # <-


@raises("not-a-tensor", "model.0, Linear", "numpy.ndarray", mend="data = torch.as_tensor(data, dtype=torch.float32)")
def an_array_into_a_layer():
    model = nn.Sequential(nn.Linear(4, 2))
    data = np.ones((8, 4), dtype=np.float32)
    return model(data)  # <-


@raises("not-a-tensor", "hidden a tuple", mend="hidden[0]")
def the_tuple_of_an_lstm_into_a_layer():
    rnn, head = nn.LSTM(4, 8), nn.Linear(8, 2)
    hidden = rnn(torch.rand(5, 1, 4))
    return head(hidden)  # <-


@raises("not-a-tensor", "out a tuple", mend="out[0]")
def the_tuple_of_an_lstm_has_no_view():
    rnn = nn.LSTM(4, 8)
    out = rnn(torch.rand(5, 1, 4))
    return out.view(-1)  # <-


@raises("not-a-tensor", "losses a list of 2 tensors", mend="torch.stack(losses)")
def a_mean_of_a_list():
    losses = [torch.ones(2), torch.ones(2)]
    return torch.mean(losses)  # <-


@raises("several-elements", "rows", mend="torch.stack(rows)")
def a_tensor_of_tensors():
    rows = [torch.rand(2), torch.rand(2)]
    return torch.tensor(rows)  # <-


@raises("several-elements", "It has 3", "errors float32 of shape (3,)", mend="errors.mean().item()")
def item_of_several():
    errors = torch.rand(3)
    return errors.item()  # <-


@raises("several-elements", "x float32 of shape (3,)", mend="(x > 0).all()")
def a_condition_on_several():
    x = torch.rand(3)
    if x > 0:  # <-
        return x
    return -x


@raises("numpy-with-grad", "output float32", mend="output.detach().numpy()")
def a_plot_of_an_output():
    output = nn.Linear(2, 1)(torch.rand(5, 2))
    return output.numpy()  # <-


@raises("numpy-object", "object", mend="float32")
def an_array_of_objects():
    rows = np.array([1.0, "2"], dtype=object)
    return torch.from_numpy(rows)  # <-


@raises("numpy-stride", "negative", mend="image = image.copy()")
def an_image_that_was_flipped():
    image = np.ones((4, 4))[:, ::-1]
    return torch.from_numpy(image)  # <-
