"""The notebook that holds every inspector: run once, looked at by many tests."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page

from minigrad.recorder import Trace
from tests.browser.jupyter import PATIENCE, Lab, await_idle, open_notebook, run_all
from tests.widgets.programs import WAYS

PROGRAM = """torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
x = torch.ones(1, 2)

def block(h):
    return (h * h).sin().cos()

with record() as trace:
    h = net(x)
    h = checkpoint(block, h, use_reentrant=False)
    h.mul_(2)
    a, b, c = h.sum(0).unbind()
    with torch.no_grad():
        half = a / 2
    b.register_hook(lambda grad: grad * 2)
    loss = a * b + a * b.exp()
    loss.backward()
trace.save("trace.json")"""
RUNS = """def run(use_reentrant):
    y = torch.ones(8, requires_grad=True)
    with record() as told:
        out = block(y) if use_reentrant is None else checkpoint(block, y, use_reentrant=use_reentrant)
        out.sum().backward()
    return told

ways = {"plain": run(None), "reentrant": run(True), "non-reentrant": run(False)}
for name, told in ways.items():
    told.save(f"{name}.json")"""
CELLS = {
    "imports": "import minigrad as torch\nfrom minigrad import nn\nfrom minigrad.recorder import record\n"
               "from minigrad.utils.checkpoint import checkpoint\n"
               "from minigrad_widgets import AliasView, Inspector, ParameterLedger, StateExplorer\n"
               "from minigrad_widgets import compare, explore, inspect, state_card",
    "program": PROGRAM,
    "ways": RUNS,
    "forward": "forward = Inspector(trace, lens='forward')\nforward",
    "backward": "backward = Inspector(trace)\nbackward",
    "traversal": "traversal = Inspector(trace, lens='traversal')\ntraversal",
    "checkpoint": "again = Inspector(trace, lens='checkpoint')\nagain",
    "all": "every = Inspector(trace, lens='all')\nevery",
    "ask": "asking = Inspector(trace, ask=True)\nasking",
    "comparison": "comparison = compare(ways)\ncomparison",
    "aliases": "aliases = AliasView(trace)\naliases",
    "ledger": "ledger = ParameterLedger(trace)\nledger",
    "explorer": "explorer = StateExplorer(explore(torch))\nexplorer",
    "magic": "%%inspect made\nw = torch.tensor([1., 2.], requires_grad=True)\n(w * w).sum().backward()",
    "state card": "state_card(x=x, h=h, b=b, loss=loss)",
}
INSPECTORS = [name for name in CELLS if name not in ("imports", "program", "ways", "state card")]
NAME = "book.ipynb"


class Book:
    """The notebook in its page, after it ran; what was recorded, as the tests read it."""

    def __init__(self, page: Page, server: Lab, sent: list[str | bytes]) -> None:
        self.page, self.server, self.sent = page, server, sent
        self.trace = Trace.load(server.folder / "trace.json")
        self.ways = {name: Trace.load(server.folder / f"{name}.json") for name in WAYS}

    def cell(self, name: str) -> Locator:
        """The cell of this name."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(list(CELLS).index(name))

    def widget(self, name: str) -> Locator:
        """The inspector of a cell, in view and with the keyboard in it."""
        root = self.cell(name).locator(".mg-root")
        root.evaluate("root => root.closest('.jp-Cell').scrollIntoView({block: 'center'})")
        root.focus()
        return root

    def evaluate(self, code: str) -> str:
        """What an expression is in the notebook's kernel, as text."""
        return self.server.evaluate(NAME, code)

    def state(self) -> list[Any]:
        """What a key that leaked would change: the cells, what is in them, which one is chosen, what has run."""
        seen: list[Any] = self.page.locator(".jp-Notebook .jp-Cell").evaluate_all("""cells => cells.map(cell => [
            cell.className.match(/jp-(Code|Markdown|Raw)Cell/)?.[1], cell.classList.contains('jp-mod-active'),
            cell.querySelector('.jp-InputPrompt')?.textContent, cell.querySelector('.cm-content')?.textContent])""")
        return seen


def turn(details: Locator) -> None:
    """Opens or closes a list of the page, and waits until the page has answered.

    The page hears of it in a later task, and what is inside a list that was closed reads as empty until it is painted.
    """
    details.locator("> summary").click()
    details.evaluate("""async () => {
        for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
        await new Promise(resolve => setTimeout(resolve));
    }""")


def make(page: Page, server: Lab) -> Book:
    """Writes the notebook, opens it, runs it, and waits for its widgets."""
    sent: list[str | bytes] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    server.write(NAME, *CELLS.values())
    open_notebook(page, server, NAME)
    run_all(page, server, NAME)
    await_widgets(page, len(INSPECTORS))
    await_idle(page, server, NAME)
    return Book(page, server, sent)


def await_widgets(page: Page, count: int) -> None:
    """Waits for so many inspectors; says what the cells printed where they do not come."""
    try:
        page.wait_for_function("count => document.querySelectorAll('.mg-root').length >= count", arg=count,
                               timeout=PATIENCE * 1000)
    except Exception as late:
        printed = "\n".join(page.locator(".jp-OutputArea-output").all_inner_texts())
        raise AssertionError(f"{count} inspectors did not come; the cells printed:\n{printed}") from late
