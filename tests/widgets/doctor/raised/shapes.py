"""Errors of shapes: layers, joins, views, losses, attention."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.widgets.doctor.raised import raises


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)  # made
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))  # <-
        return self.fc2(x)


@raises("shape-mismatch", "net.fc1, Linear(in_features=400", "takes 400 features and got 2704",
        "x float32 of shape (4, 2704)", mend="self.fc1 = nn.Linear(2704, 120)")
def images_of_another_size():
    net = LeNet()
    return net(torch.rand(4, 3, 64, 64))


@raises("shape-mismatch", "model.0, Linear(in_features=784", "takes 784 features and got 28", "images float32",
        mend="images = images.flatten(1)")
def images_that_are_not_flattened():
    model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))  # made
    images = torch.rand(8, 1, 28, 28)
    return model(images)  # <-


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),  # made
            nn.ReLU(),
        )

    def forward(self, image):
        return self.features(image)  # <-


@raises("shape-mismatch", "encoder.features.0, Conv2d(3, 8", "takes 3 channels and got 1", "[2, 1, 16, 16]",
        mend="nn.Conv2d(1, 8, 3, padding=1)")
def grey_images_into_a_colour_network():
    encoder = Encoder()
    return encoder(torch.rand(2, 1, 16, 16))


@raises("shape-mismatch", "model.0, Conv2d(3, 8", "takes 3 channels and got 224",
        mend="images = images.permute(0, 3, 1, 2)")
def channels_last_as_numpy_has_them():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
    images = torch.rand(2, 224, 224, 3)
    return model(images)  # <-


@raises("shape-mismatch", "conv, Conv2d(1, 8", "3D (unbatched) or 4D (batched) input and got [32, 784]",
        mend="rows.unsqueeze")
def rows_into_a_convolution():
    conv = nn.Conv2d(1, 8, 3)
    rows = torch.rand(32, 784)
    return conv(rows)  # <-


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 16, 3, padding=1)

    def forward(self, x):
        out = self.conv(x)
        return out + x  # <-


@raises("shape-mismatch", "In dimension 1 one has 16 entries and the other 8", "out float32 of shape (2, 16, 4, 4)",
        "x float32 of shape (2, 8, 4, 4)", "Residual", mend="print(out.shape, x.shape)")
def skip_connection_of_another_width():
    return Residual()(torch.rand(2, 8, 4, 4))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(4, 4, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(4, 4, 2, stride=2)

    def forward(self, skip):
        up = self.up(self.down(skip))
        return torch.cat([up, skip], dim=1)  # <-


@raises("shape-mismatch", "They may differ in dimension 1 only; tensor 1 has 25 elsewhere where 26 are expected",
        "up float32 of shape (1, 4, 26, 26)", "skip float32 of shape (1, 4, 25, 25)", mend="F.interpolate")
def unet_of_an_odd_size():
    return Decoder()(torch.rand(1, 4, 25, 25))


@raises("shape-mismatch", "[-1, 400] does not have 5408 elements", "x float32 of shape (2, 16, 13, 13)",
        mend="x = x.reshape(x.size(0), -1)")
def view_of_a_size_from_a_tutorial():
    x = torch.rand(2, 16, 13, 13)
    return x.view(-1, 400)  # <-


@raises("shape-mismatch", "do not lie in this order", "heads float32 of shape (2, 5, 4, 8)",
        mend="heads.reshape(2, 5, 32)")
def heads_that_are_joined_by_a_view():
    heads = torch.rand(2, 4, 5, 8).transpose(1, 2)
    return heads.view(2, 5, 32)  # <-


@raises("shape-mismatch", "The first is [5], number 1 is [7]", mend="collate_fn")
def sentences_of_several_lengths():
    sentences = [torch.ones(5), torch.ones(7), torch.ones(3)]
    for batch in torch.utils.data.DataLoader(sentences, batch_size=3):  # <-
        print(batch)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.bn = nn.BatchNorm2d(32)  # made

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))  # <-


@raises("shape-mismatch", "block.bn, BatchNorm2d(32", "has 32 channels and got 16", mend="self.bn = nn.BatchNorm2d(16)")
def batch_norm_of_another_width():
    block = Block()
    return block(torch.rand(2, 3, 8, 8))


@raises("shape-mismatch", "model.1, BatchNorm1d(8", "2D or 3D", "4D", mend="BatchNorm2d")
def batch_norm_of_images():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm1d(8))
    return model(torch.rand(2, 3, 8, 8))  # <-


@raises("one-value-per-channel", "model.1, BatchNorm1d(16", "torch.Size([1, 16])", mend="drop_last=True")
def a_last_batch_of_one():
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Linear(16, 2))
    loader = torch.utils.data.DataLoader(torch.rand(9, 4), batch_size=8)
    for batch in loader:
        model(batch)  # <-


@raises("shape-mismatch", "There are 32 predictions and 8 targets", "outputs float32 of shape (32, 10)",
        "labels int64 of shape (8,)", mend="F.cross_entropy(outputs, labels)")
def a_view_that_swallows_the_batch():
    criterion = nn.CrossEntropyLoss()
    outputs, labels = torch.rand(8, 4, 10).view(-1, 10), torch.randint(10, (8,))
    return criterion(outputs, labels)  # <-


@raises("shape-mismatch", "labels int64 of shape (8, 1)", mend="labels = labels.squeeze(1)")
def labels_in_a_column():
    criterion = nn.CrossEntropyLoss()
    outputs, labels = torch.rand(8, 10), torch.randint(10, (8, 1))
    return criterion(outputs, labels)  # <-


@raises("shape-mismatch", "logits float32 of shape (16, 1)", "target float32 of shape (16,)",
        mend="logits.squeeze(1)")
def a_column_of_logits_and_a_row_of_labels():
    logits, target = torch.rand(16, 1), torch.ones(16)
    return nn.BCEWithLogitsLoss()(logits, target)  # <-


@raises("shape-mismatch", "probs float32 of shape (16, 1)", "target float32 of shape (16,)",
        mend="probs.squeeze(1)")
def a_column_of_probabilities_and_a_row_of_labels():
    probs, target = torch.rand(16, 1), torch.ones(16)
    return nn.BCELoss()(probs, target)  # <-


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.lstm = nn.LSTM(64, 16, batch_first=True)  # made

    def forward(self, words):
        out, _ = self.lstm(self.embed(words))  # <-
        return out


@raises("shape-mismatch", "tagger.lstm, LSTM(64, 16", "takes 64 features and got 32",
        mend="self.lstm = nn.LSTM(32, 16, batch_first=True)")
def an_lstm_wider_than_its_words():
    tagger = Tagger()
    return tagger(torch.randint(100, (4, 7)))


@raises("shape-mismatch", "Expected hidden[0] size (1, 3, 16), got [1, 8, 16]", "rnn, LSTM(4, 16", mend="x.size(0)")
def a_hidden_state_of_the_batch_before():
    rnn = nn.LSTM(4, 16, batch_first=True)
    state = torch.zeros(1, 8, 16), torch.zeros(1, 8, 16)
    for x in (torch.rand(8, 5, 4), torch.rand(3, 5, 4)):
        rnn(x, state)  # <-


@raises("shape-mismatch", "q float32 of shape (2, 5, 8)", "k float32 of shape (2, 5, 8)",
        mend="k.transpose(-2, -1)")
def scores_without_the_transpose():
    q, k = torch.rand(2, 5, 8), torch.rand(2, 5, 8)
    return torch.bmm(q, k)  # <-


@raises("shape-mismatch", "weights float32 of shape (3, 4)", "x float32 of shape (3,)", "4", mend="weights.t()")
def a_vector_of_the_other_side():
    weights, x = torch.rand(3, 4), torch.rand(3)
    return torch.mv(weights, x)  # <-


@raises("shape-mismatch", "embed_dim", "100", "8", mend="num_heads")
def heads_that_do_not_divide_the_width():
    return nn.MultiheadAttention(100, 8)  # <-


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(64, 4, batch_first=True)  # made

    def forward(self, tokens):
        out, _ = self.attn(tokens, tokens, tokens)  # <-
        return out


@raises("shape-mismatch", "layer.attn, MultiheadAttention", "takes 64 features and got 32",
        "tokens float32 of shape (2, 5, 32)", mend="self.attn = nn.MultiheadAttention(32, 4, batch_first=True)")
def attention_of_another_width():
    layer = SelfAttention()
    return layer(torch.rand(2, 5, 32))


@raises("shape-mismatch", "attention, MultiheadAttention", "(5, 5)", "(2, 5)", mend="generate_square_subsequent_mask")
def a_mask_of_another_length():
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.rand(2, 5, 8)
    return attention(x, x, x, attn_mask=torch.zeros(2, 5))  # <-


@raises("shape-mismatch", "norm, LayerNorm((32,)", "normalises [32] and got [2, 5, 64]", mend="norm = nn.LayerNorm(64)")
def layer_norm_of_another_width():
    norm = nn.LayerNorm(32)
    return norm(torch.rand(2, 5, 64))  # <-


@raises("shape-mismatch", "smaller than the window", "model.2, MaxPool2d", mend="")
def more_pooling_than_image():
    model = nn.Sequential(nn.MaxPool2d(2), nn.MaxPool2d(2), nn.MaxPool2d(2))
    return model(torch.rand(1, 3, 4, 4))  # <-


@raises("shape-mismatch", "image float32 of shape (28, 28)", "3", "2", mend="image.unsqueeze(-1)")
def a_permute_of_a_missing_channel():
    image = torch.rand(28, 28)
    return image.permute(2, 0, 1)  # <-


@raises("shape-mismatch", "x float32 of shape (3, 8, 8)", "4", "3", mend="x = x.unsqueeze(0)")
def an_image_without_its_batch():
    x = torch.rand(3, 8, 8)
    batch, channels, height, width = x.shape  # <-
    return batch, channels, height, width


@raises("shape-mismatch", "mask bool of shape (4,)", "x float32 of shape (3, 2)", mend="x[mask")
def a_mask_of_another_batch():
    x, mask = torch.rand(3, 2), torch.tensor([True, False, True, True])
    return x[mask]  # <-


@raises("shape-mismatch", "norms float32 of shape (4,)", "In dimension 1 one has 3 entries and the other 4",
        mend="norms")
def a_division_by_norms():
    x = torch.rand(4, 3)
    norms = x.norm(dim=1)
    return x / norms  # <-
