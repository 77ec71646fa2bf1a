"""Expressions for the names of nodes of recurrent networks and of weights: see `test_node_names.py`."""

NAMES = {
    "MkldnnRnnLayerBackward0":
        "torch.lstm(b, (b[:1, :, :1], b[:1, :, 1:2]), [x.repeat(2, 1), x.repeat(2, 1)[:, :1]], False, 1, 0.0, False, "
        "False, False)[0]",
    "WeightNormInterfaceBackward0": "torch.nn.utils.weight_norm(torch.nn.Linear(3, 2)).weight",
}
