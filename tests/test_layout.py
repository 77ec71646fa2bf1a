"""The page of the layout is what its command makes, and its rule leads to the file of a PyTorch name."""

from __future__ import annotations

from minigrad import ops
from tests import layout_page
from tests.links import ROOT

# 40 names of PyTorch, drawn once with the seed 2213, by the folder in which the first rule tells a reader to look. They
# are kept by hand: a file that moves to another folder is noticed though the index follows it.
DRAWN = {
    "special.py": "special.erfcx",
    "compat": "torch.conj_physical",
    "nn/modules": "nn.Conv3d nn.HingeEmbeddingLoss nn.ParameterList nn.TripletMarginWithDistanceLoss nn.Unfold",
    "ops/activation.py": "Tensor.sigmoid_ nn.functional.selu torch.selu_",
    "ops/index": "torch.nonzero",
    "ops/linalg": "Tensor.addbmm_ Tensor.vdot torch.pinverse torch.vdot",
    "ops/nn": "nn.functional.dropout torch.alpha_dropout_ torch.conv3d torch.dropout torch.rnn_relu",
    "ops/pointwise": "Tensor.heaviside Tensor.isfinite Tensor.ne torch.arccos torch.arccosh_ torch.arctanh "
        "torch.clamp torch.log_",
    "ops/random.py": "Tensor.random_ torch.initial_seed",
    "ops/reduce": "Tensor.logsumexp Tensor.nanquantile torch.cumsum",
    "ops/shape": "Tensor.t_ Tensor.tensor_split torch.flipud torch.hstack torch.permute",
    "ops/special": "Tensor.lgamma_",
    "optim": "optim.RAdam",
}
FOLDERS = {name: folder for folder, names in DRAWN.items() for name in names.split()}


def misplaced(names, files, text):
    """The names for which a reader who follows the page opens the wrong file, or one in the wrong folder."""
    def is_right(name):
        folder = f"minigrad/{FOLDERS.get(name, '')}"
        return layout_page.predicted(name, text) == files[name] and files[name].startswith(folder)

    return [name for name in names if not is_right(name)]


def test_the_page_is_what_the_command_makes():
    assert layout_page.PAGE.read_text(encoding="utf-8") == layout_page.page(), "run `python -m tests.layout_page`"


def test_the_rule_leads_to_the_file():
    files, text = layout_page.files_of_names(), layout_page.PAGE.read_text(encoding="utf-8")
    assert misplaced(FOLDERS, files, text) == []
    for name in FOLDERS:
        base = name.rpartition(".")[2].removesuffix("_")
        assert base in (ROOT / files[name]).read_text(encoding="utf-8")


def test_a_misplacement_is_noticed_though_the_index_follows_it():
    files = layout_page.files_of_names() | {"torch.conv3d": "minigrad/ops/pointwise/unary.py"}
    text = layout_page.page().replace("`torch.conv3d`, ", "").replace("`torch.ceil`", "`torch.ceil`, `torch.conv3d`")
    assert layout_page.predicted("torch.conv3d", text) == files["torch.conv3d"]
    assert misplaced(["torch.conv3d"], files, text) == ["torch.conv3d"]


def test_a_method_moved_away_from_its_function_is_noticed(monkeypatch):
    text = layout_page.PAGE.read_text(encoding="utf-8")
    monkeypatch.setitem(ops.METHODS, "cos", ops.METHODS["tril"])
    files = layout_page.files_of_names.__wrapped__()
    assert misplaced(["Tensor.cos"], files, text) == ["Tensor.cos"]
    assert layout_page.source_of(ops.METHODS["cos"]) != layout_page.source_of(ops.FUNCTIONS["cos"])
