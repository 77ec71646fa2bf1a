"""The shell of a lesson's page: it runs cells in Pyodide, and tells the page what they show.

It stands where a notebook has IPython, which with all that it needs is half as large as Python itself. `Shell` runs a
cell; the lessons and ipywidgets find it where they look for IPython, and widgets talk to the page through the `comm`
package. The page's script, `static/cells.js`, gets each message as JSON.
"""

from __future__ import annotations

import builtins
import io
import json
import linecache
import logging
import re
import sys
import traceback
import warnings
from base64 import b64encode
from collections.abc import Callable
from pprint import pformat
from types import ModuleType, TracebackType
from typing import Any

import comm
from pyodide.code import eval_code_async  # type: ignore[import-not-found]  # it is there in Pyodide, and only there

METHODS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_",
           "text/markdown": "_repr_markdown_", "text/latex": "_repr_latex_"}
CELL = re.compile(r'File "<ipython-input-(\d+)-\d+>"')
MAGIC = "%"
NO_MAGICS = ("SyntaxError: cells of this page know no magics, which begin with % or !. Run the lesson itself for them: "
             "“Run this lesson here”, above.")
Bundle = dict[str, Any]
Handler = Callable[..., None]


class Shell:
    """Runs cells. `post` takes each message, as JSON: what is printed or displayed, an error, a widget's news."""

    def __init__(self, post: Callable[[str], None]) -> None:
        self._post, self._runs, self._displays = post, 0, 0
        self.user_ns: dict[str, Any] = {"__name__": "__main__"}
        self.custom_exceptions: tuple[type[BaseException], ...] = ()
        self._custom: Handler | None = None
        self.streams = Stream(self, "stdout"), Stream(self, "stderr")
        sys.stdout, sys.stderr = self.streams
        builtins.get_ipython = lambda: self  # type: ignore[attr-defined]  # IPython puts it there, too
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # figures are shown after each cell
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # it says that it lists fonts, each time
        sys.modules |= _page(self)
        _connect_widgets(self)

    async def run(self, cell: int, source: str) -> bool:
        """Run the cell with that number, and display its last expression; whether all went well."""
        self._runs += 1
        name = f"<ipython-input-{cell}-{self._runs}>"
        linecache.cache[name] = len(source), None, source.splitlines(True), name
        try:
            if source.lstrip().startswith((MAGIC, "!")):
                self.say("error", text=NO_MAGICS)
                return False
            value = await eval_code_async(source, self.user_ns, filename=name)
            if value is not None:
                self.user_ns["_"] = value
                self.display(value)
            self._show_figures()
        except BaseException as error:  # noqa: BLE001 (SystemExit too: it ends the cell, not the shell)
            error.__traceback__ = _from_cell(error.__traceback__)
            if self._custom is not None and isinstance(error, self.custom_exceptions):
                self._custom(self, type(error), error, error.__traceback__)
            else:
                self.showtraceback((type(error), error, error.__traceback__))
            return False
        finally:
            self.flush()
        return True

    def say(self, kind: str, **content: Any) -> None:
        """Send a message, after what was printed before it."""
        self.flush()
        self._post(json.dumps({"kind": kind, **content}))

    def send_text(self, name: str, text: str) -> None:
        """Send what was printed."""
        self._post(json.dumps({"kind": "stream", "name": name, "text": text}))

    def flush(self) -> None:
        """Send all that was printed."""
        for stream in self.streams:
            stream.flush()

    def set_custom_exc(self, kinds: tuple[type[BaseException], ...], handler: Handler) -> None:
        """Let a function show errors of some kinds, as in IPython."""
        self.custom_exceptions, self._custom = kinds, handler

    def showtraceback(self, told: tuple[type[BaseException], BaseException, TracebackType | None],
                      **_: Any) -> None:
        """Show an error without the frames that are marked as no business of the reader."""
        error = told[1]
        render = getattr(error, "_render_traceback_", None)
        self.say("error", text="\n".join(render()) if render else told_in_cells(error))

    def display(self, *values: Any, raw: bool = False, display_id: bool | str | None = None, **_: Any) -> Any:
        """Display values, as `IPython.display.display` does."""
        handle = None
        if display_id:
            self._displays += 1
            handle = Handle(self, f"display-{self._displays}" if display_id is True else display_id)
        for value in values:
            self.say("display", data=dict(value) if raw else bundle(value), id=handle and handle.display_id)
        return handle

    def update_display(self, value: Any, *, display_id: str, raw: bool = False, **_: Any) -> None:
        """Put something else where that display is."""
        self.say("update", data=dict(value) if raw else bundle(value), id=display_id)

    def clear_output(self, wait: bool = False) -> None:
        """Remove what the cell has shown so far; with `wait`, once it shows something else."""
        self.say("clear", wait=wait)

    def _show_figures(self) -> None:
        pyplot = sys.modules.get("matplotlib.pyplot")
        for number in pyplot.get_fignums() if pyplot else ():
            out = io.BytesIO()
            figure = pyplot.figure(number)  # type: ignore[union-attr]  # there are none without it
            figure.savefig(out, format="png", bbox_inches="tight")
            self.say("display", data={"image/png": b64encode(out.getvalue()).decode(), "text/plain": repr(figure)},
                     id=None)
            pyplot.close(figure)  # type: ignore[union-attr]  # as above


class Handle:
    """A display that can be changed."""

    def __init__(self, shell: Shell, display_id: str) -> None:
        self._shell, self.display_id = shell, display_id

    def update(self, value: Any, **how: Any) -> None:
        """Put something else in its place."""
        self._shell.update_display(value, display_id=self.display_id, **how)


class Stream(io.TextIOBase):
    """Takes what is printed, and sends it by the line: while a cell runs, nothing else would send it later."""

    encoding = "utf-8"

    def __init__(self, shell: Shell, name: str) -> None:
        self._shell, self.name, self._waiting = shell, name, ""

    def writable(self) -> bool:
        """It can be written to."""
        return True

    def write(self, text: str) -> int:
        """Take text."""
        self._waiting += text
        if "\n" in text or "\r" in text:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Send what there is."""
        if self._waiting:
            text, self._waiting = self._waiting, ""
            self._shell.send_text(self.name, text)


def bundle(value: Any) -> Bundle:
    """Return a value by type of content, as IPython asks for it."""
    made: Any = {} if isinstance(value, type) else getattr(value, "_repr_mimebundle_", dict)()
    found: Bundle = dict(made[0] if isinstance(made, tuple) else made or {})
    if not isinstance(value, type):
        for kind, name in METHODS.items():
            content = getattr(value, name, lambda: None)() if kind not in found else None
            if content is not None:
                found[kind] = b64encode(content).decode() if isinstance(content, bytes) else content
    if "text/plain" not in found:
        found["text/plain"] = pformat(value, width=79, sort_dicts=False, compact=False) \
            if type(value) in (dict, list, set, tuple) else repr(value)
    return found


def told_in_cells(error: BaseException) -> str:
    """Return the traceback of an error: the frames of cells and those that are not hidden, and the last one."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = _without_hidden(_from_cell(link.__traceback__))
        link = link.__cause__ or link.__context__
    return CELL.sub(r"Cell \1", "".join(traceback.format_exception(error))).rstrip()


def _from_cell(tb: TracebackType | None) -> TracebackType | None:
    """A traceback from the first frame of a cell on: before it there are only Pyodide's; none if no cell has run."""
    start = tb
    while start is not None and not start.tb_frame.f_code.co_filename.startswith("<ipython-input"):
        start = start.tb_next
    return start


def _without_hidden(tb: TracebackType | None) -> TracebackType | None:
    links: list[TracebackType] = []
    while tb is not None:
        links.append(tb)
        tb = tb.tb_next
    kept = None
    for link in reversed(links):
        if kept is None or not link.tb_frame.f_locals.get("__tracebackhide__"):
            kept = TracebackType(kept, link.tb_frame, link.tb_lasti, link.tb_lineno)
    return kept


def _page(shell: Shell) -> dict[str, ModuleType]:
    """The modules of IPython that the lessons and ipywidgets import, as far as a page has them."""
    def module(name: str, **names: Any) -> ModuleType:
        made = ModuleType(name)
        vars(made).update(names)
        return made

    shown = {kind: _data(kind, method) for kind, method in
             {"HTML": "_repr_html_", "SVG": "_repr_svg_", "Image": "_repr_png_", "Markdown": "_repr_markdown_"}.items()}
    display = module("IPython.display", display=shell.display, update_display=shell.update_display,
                     clear_output=shell.clear_output, **shown)
    interactive = module("IPython.core.interactiveshell", InteractiveShell=Shell)
    core = module("IPython.core", interactiveshell=interactive, __path__=[])
    # What asks for the shell itself wants IPython's magics, or its kernel: to that, there is none.
    ipython = module("IPython", get_ipython=lambda: None, display=display, core=core, __path__=[])
    return {made.__name__: made for made in (ipython, display, core, interactive)}


def _data(name: str, method: str) -> type:
    """A class of IPython.display: it holds content, and displays it."""
    return type(name, (), {"__init__": lambda self, data: setattr(self, "data", data),
                           method: lambda self: self.data, "__repr__": lambda self: f"<{name} object>"})


def _connect_widgets(shell: Shell) -> None:
    """Let widgets talk to the page."""
    class PageComm(comm.base_comm.BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None,
                        **keys: Any) -> None:
            """Send a message of a widget. None of those that lessons show has binary data."""
            shell.say("widget", what=msg_type, id=self.comm_id, data=data or {})

    comm.create_comm = PageComm


def hear(id: str, data: str) -> None:
    """Give a widget what the page says to it, as JSON."""
    found = comm.get_comm_manager().get_comm(id)
    if found is not None:
        found.handle_msg({"content": {"comm_id": id, "data": json.loads(data)}, "buffers": []})
