"""The inspector without a browser: traits, text, picture, page, and the bundle that a notebook keeps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets
from PIL import Image

import minigrad as torch
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector, compare
from minigrad_widgets.inspector.inspector import PARTS
from minigrad_widgets.widget.page import PLAYER
from tests.widgets import synthetic

FRONTEND = Path(__file__).parents[2] / "widgets" / "frontend"
PNG = b"\x89PNG\r\n\x1a\n"
LARGEST = 360_000  # bytes of a page beside its trace
WIDGET = "application/vnd.jupyter.widget-view+json"


def test_it_begins_at_the_backward_pass(trace: Trace) -> None:
    assert Inspector(trace).step == trace.steps("backward")[0]
    assert Inspector(trace, lens="all").step == 0
    assert Inspector(trace, step=7).step == 7


def test_the_trace_is_sent_with_positions_and_is_left_alone(trace: Trace) -> None:
    sent = Trace.from_json(Inspector(trace).trace).to_dict()
    assert set(sent["layout"]["nodes"]) == {str(node) for node in range(len(trace.nodes))}
    assert trace.layout is None
    assert sent["events"] == trace.events


def test_of_a_folded_graph_only_the_boxes_get_positions() -> None:
    model = nn.Sequential(*[nn.Sequential(nn.Linear(2, 2), nn.ReLU()) for _ in range(20)])
    with record() as trace:
        model(torch.ones(1, 2)).sum().backward()
    inspector = Inspector(trace)
    sent = json.loads(inspector.trace)
    assert sent["layout"] is None
    assert 0 < len(sent["opening"]["nodes"]) < len(trace.nodes) / 4
    inspector.collapsed = []
    assert "AddmmBackward0" in inspector.to_svg()


def test_folded_modules_are_those_that_are_there() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with record() as trace:
        model(torch.ones(1, 2))
    inspector = Inspector(trace)
    assert inspector.collapsed is None
    inspector.collapsed = [1, 7, -1]
    assert inspector.collapsed == [1]


def test_the_page_is_small_and_is_written_to_a_file(trace: Trace, tmp_path: Path) -> None:
    inspector = Inspector(trace)
    page = inspector.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert len(page.encode()) - len(inspector.trace.encode()) < LARGEST


def test_the_page_of_a_large_trace_holds_it_once_and_as_it_is() -> None:
    inspector = Inspector(Trace.from_dict(synthetic.layers(600)))
    page = inspector.to_html()
    assert len(page.encode()) - len(inspector.trace.encode()) < LARGEST
    state = re.search(r'<script type="application/json" id="state">(.*?)</script>', page, re.DOTALL)
    assert state is not None
    assert json.loads(state[1]) == {**{name: getattr(inspector, name) for name in Inspector.STATE},
                                    "trace": json.loads(inspector.trace)}
    compared = compare({"a": inspector._trace, "b </script>": inspector._trace})
    assert len(compared.to_html().encode()) - sum(map(len, compared.traces.values())) < LARGEST


def test_a_picture_of_another_step_leaves_the_inspector_where_it_is(trace: Trace) -> None:
    inspector, other = Inspector(trace, step=4), Inspector(trace, step=9)
    assert inspector.to_png(9) == other.to_png()
    assert inspector.to_svg(9) == other.to_svg()
    assert inspector.step == 4


def test_steps_stay_inside_the_trace(trace: Trace) -> None:
    inspector = Inspector(trace)
    inspector.step = 10_000
    assert inspector.step == len(trace.events) - 1
    inspector.step = -3
    assert inspector.step == 0
    inspector.selected = 10_000
    assert inspector.selected is None


def test_an_unknown_lens_is_refused(trace: Trace) -> None:
    with pytest.raises(traitlets.TraitError, match="sideways"):
        Inspector(trace, lens="sideways")


def test_the_browser_knows_the_same_parts() -> None:
    script = (FRONTEND / "src" / "inspector" / "growing.ts").read_text(encoding="utf-8")
    [names] = re.findall(r"^const PARTS = \[(.*)\];$", script, re.MULTILINE)
    assert json.loads(f"[{names}]") == list(PARTS)


def test_a_step_can_be_observed(trace: Trace) -> None:
    inspector, seen = Inspector(trace), []
    inspector.observe(lambda change: seen.append(change["new"]), "step")
    inspector.step = 8
    assert seen == [8]
    assert inspector.frame == trace.frame(8)


def test_the_bundle_is_widget_picture_and_text(trace: Trace) -> None:
    inspector = Inspector(trace)
    bundle, _ = inspector._repr_mimebundle_()
    assert set(bundle) == {WIDGET, "image/png", "text/plain"}
    assert bundle["text/plain"] == inspector.text == repr(inspector)
    saved, drawn = b64decode(bundle["image/png"]), inspector.to_png()
    assert saved.startswith(PNG)
    with Image.open(BytesIO(saved)) as noted, Image.open(BytesIO(drawn)) as plain:
        assert noted.height > plain.height  # a line below says that the cell has to be run
        assert noted.width >= plain.width
        assert noted.convert("RGB").crop((0, 0, *plain.size)).getcolors() is not None


def test_showing_a_graph_loads_no_matplotlib() -> None:
    program = ("import sys, minigrad as torch\nfrom minigrad_widgets import inspect\n"
               "shown = inspect((torch.ones(2, requires_grad=True) ** 2).sum())\n"
               "assert 'image/png' in shown._repr_mimebundle_()[0]\nprint('matplotlib' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_text_and_picture_are_the_same_every_time(trace: Trace) -> None:
    one, other = Inspector(trace, step=9), Inspector(Trace.from_json(trace.to_json()), step=9)
    assert one.text == other.text
    assert not re.search(r"0x[0-9a-f]{4}", one.text)
    assert one.to_png() == other.to_png()
    assert one.to_svg() == other.to_svg()


@pytest.mark.parametrize("lens", ["backward", "traversal", "all"])
def test_pictures_are_small(trace: Trace, lens: str) -> None:
    inspector = Inspector(trace, lens=lens)
    for step in range(len(trace.events)):
        inspector.step = step
        picture = inspector.to_png()
        assert picture.startswith(PNG)
        assert len(picture) <= 60_000


def test_a_large_graph_is_drawn_around_the_lit_node() -> None:
    inspector = Inspector(Trace.from_dict(synthetic.layers(2_000)))
    inspector.step = 5_000
    picture = inspector.to_png()
    assert len(picture) <= 60_000
    assert max(Image.open(BytesIO(picture)).size) <= 1_200


def test_the_label_of_a_link_is_not_cut() -> None:
    """A view that was made anew is linked to its former node at the right of the graph, beyond which its label lies."""
    with record() as trace:
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 2
        y[1:] = x[:2] * 10
        y.sum().backward()
    picture = Inspector(trace, step=trace.steps("backward")[-1]).picture()
    ends = [text.x + text.width for _, text in picture.drawn if getattr(text, "text", "").startswith("was ")]
    assert len(ends) == 2 and max(ends) <= picture.left + picture.width


def test_what_runs_is_blue_in_the_picture(trace: Trace) -> None:
    inspector = Inspector(trace)

    def blue(step: int) -> int:
        inspector.step = step
        pixels = np.asarray(Image.open(BytesIO(inspector.to_png())).convert("RGB")).reshape(-1, 3).astype(int)
        return sum(abs(r) + abs(g - 0x72) + abs(b - 0xB2) < 12 for r, g, b in pixels)

    runs = next(step for step, event in enumerate(trace.events) if event["kind"] == "run")
    assert blue(runs) > 3_000
    assert blue(trace.steps("backward")[0]) < 100


def test_the_traversal_is_pythons(trace: Trace) -> None:
    inspector = Inspector(trace, lens="traversal")
    root = next(event for event in trace.events if event["kind"] == "backward_start")["roots"][0][0]
    assert "called: none" in inspector.text
    inspector.calls = [root]
    assert "called: SumBackward0" in inspector.text
    assert "pending: MulBackward0 #2: 1 of 1 (tensor([1., 1.]))" in inspector.text
    assert inspector.to_png() != Inspector(trace, lens="traversal").to_png()


def test_names_and_source_are_data() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        (x * x).backward()
    trace.tensors[0]["name"] = "</script><script>alert('$x$')</script>"
    page = Inspector(trace).to_html()
    assert page.count("</script>") == 2
    assert Inspector(trace, step=5).to_png().startswith(PNG)


def test_the_page_asks_the_network_for_nothing(trace: Trace) -> None:
    page = Inspector(trace).to_html()
    assert "src=" not in page
    assert "@import" not in page
    addresses = set(re.findall(r"https?://[^\"'`\s)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg", PLAYER}  # a link leads there once somebody copies one


@pytest.mark.parametrize("lens", ["backward", "traversal", "all"])
def test_a_trace_without_a_pass(lens: str) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        x * x
    inspector = Inspector(trace, lens=lens)
    assert inspector.text.startswith("Inspector")
    assert inspector.to_png().startswith(PNG)


@pytest.mark.parametrize("lens", ["backward", "traversal", "all"])
def test_an_empty_trace(lens: str) -> None:
    with record() as trace:
        pass
    bundle: dict[str, Any] = Inspector(trace, lens=lens)._repr_mimebundle_()[0]
    assert bundle["text/plain"] == "Inspector: nothing was recorded"
    assert b64decode(bundle["image/png"]).startswith(PNG)


def test_a_picture_has_the_arithmetic_of_its_step() -> None:
    a, b = (torch.tensor(numbers, requires_grad=True) for numbers in ([1., 2.], [5., 6.]))
    with record() as recorded:
        (a * b).sum().backward()
    step = next(at for at, event in enumerate(recorded.events) if event["kind"] == "flow" and event["to"] != 1)
    texts = [Inspector(recorded, step=at).to_svg() for at in range(len(recorded.events))]
    assert any("grad of a = grad · b = [1., 1.] · [5., 6.] = [5., 6.]" in text for text in texts[step:])
    assert not any("grad of a" in text for text in texts[:step])
    asking = Inspector(recorded, ask=True)
    asking.step = step
    assert "grad of a" not in asking.to_svg()


def test_a_node_with_nan_is_red_in_the_picture() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    with record() as recorded:
        (x / x).sum().backward()
    shown = Inspector(recorded, lens="all")
    assert all("#b3001b" in shown.to_svg(step) for step in (0, len(recorded) - 1))  # the first op gives NaN
    plain = torch.tensor([1.0], requires_grad=True)
    with record() as other:
        (plain / plain).sum().backward()
    assert "#b3001b" not in Inspector(other).to_svg()
