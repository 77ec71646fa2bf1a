"""Six tools, each of which makes a file of a model: `python -m tests.comparison.tools TOOL MODEL FOLDER`.

One process for each pair, so that no tool pays for another or changes PyTorch for it. It prints the seconds of one CPU
core from the call to the finished file, without imports, as JSON; or the error. Model Explorer is then served, until
its process is ended.
"""

from __future__ import annotations

import json
import socket
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import torch

from tests.comparison.models import MODELS, Case

__all__ = ["TOOLS", "served"]

Make = Callable[[Any, Case, Path], Any]


def inspector(module: Any, case: Case, folder: Path) -> None:
    """The inspector's page of a training step: the forward pass, the loss and the backward pass.

    The call is in a file of its own, since the page shows the lines of the program."""
    program = folder / "program.py"
    program.write_text("shown = inspect(model, *inputs, **loss)\n", encoding="utf-8")
    names = {"inspect": module.inspect, "model": case.model, "inputs": case.inputs, "loss": case.loss}
    exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), names)
    names["shown"].to_html(folder / "made.html")


def torchvista(module: Any, case: Case, folder: Path) -> None:
    """torchvista's page."""
    module.trace_model(case.model, case.inputs, export_format="html", export_path=str(folder / "made.html"))


def torchview(module: Any, case: Case, folder: Path) -> None:
    """torchview's drawing, for Graphviz."""
    made = module.draw_graph(case.model, input_data=list(case.inputs), expand_nested=True)
    (folder / "made.dot").write_text(made.visual_graph.source, encoding="utf-8")


def torchinfo(module: Any, case: Case, folder: Path) -> None:
    """torchinfo's table, with all columns that it has for outputs and costs."""
    columns = ("output_size", "num_params", "params_percent", "mult_adds")
    made = module.summary(case.model, input_data=list(case.inputs), col_names=columns, depth=3, verbose=0)
    (folder / "made.txt").write_text(str(made), encoding="utf-8")


def torchlens(module: Any, case: Case, folder: Path) -> None:
    """torchlens' drawing, for Graphviz: it writes the file, then calls `dot`, and says if that is missing."""
    traced = module.trace(case.model, list(case.inputs))
    try:
        traced.draw(vis_save_only=True, vis_fileformat="svg", vis_outpath=str(folder / "drawing"))
    except Exception as error:
        if type(error).__name__ != "GraphvizUnavailableError":
            raise
    (folder / "summary.txt").write_text(str(traced.summary()), encoding="utf-8")


def explorer(module: Any, case: Case, folder: Path) -> Any:
    """Model Explorer's graph of the exported program."""
    config = module.config()
    config.add_model_from_pytorch("model", torch.export.export(case.model, case.inputs))
    return config


TOOLS: dict[str, tuple[str, str, Make]] = {  # the package's name, its module, and how it makes a file
    "here": ("minigrad", "minigrad_widgets", inspector),
    "torchvista": ("torchvista", "torchvista", torchvista),
    "explorer": ("ai-edge-model-explorer", "model_explorer", explorer),
    "torchview": ("torchview", "torchview", torchview),
    "torchlens": ("torchlens", "torchlens", torchlens),
    "torchinfo": ("torchinfo", "torchinfo", torchinfo),
}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def served(config: Any, module: Any) -> None:
    """Serve Model Explorer until the process is ended; its address is printed by itself."""
    module.visualize_from_config(config, port=free_port(), no_open_in_browser=True)


def main(tool: str, model: str, folder: Path) -> None:
    """One tool and one model."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)  # else waiting threads count as work
    case = MODELS[model][1]()
    _, name, make = TOOLS[tool]
    module = import_module(name)
    start = process_time()
    try:
        made = make(module, case, folder)
    except Exception as error:  # noqa: BLE001 - what a tool cannot do is a result, too
        print(json.dumps({"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}), flush=True)
        return
    print(json.dumps({"seconds": process_time() - start}), flush=True)
    if tool == "explorer":
        served(made, module)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
