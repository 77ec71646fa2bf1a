"""The command `minigrad`: opens JupyterLab on the lessons, in a folder that is the user's own.

    minigrad lab                     the lessons in ./minigrad-lessons, in the browser
    minigrad lab --to DIR            in another folder
    minigrad lab --no-browser        print the address instead
    minigrad lab --reset 3           put lesson 3 back as it was given; what was there is kept

The second time, the same folder is opened as it was left.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import minigrad
from minigrad_lessons import folder as lessons_in
from minigrad_lessons.folder import LessonError, Report
from minigrad_lessons.server import Lab, check_installed, choose_port


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 0, or 1 after an error that was explained."""
    options = _parser().parse_args(arguments)
    folder = Path(options.to).expanduser().absolute()
    try:
        return _reset(folder, options.reset) if options.reset is not None else _lab(folder, options)
    except LessonError as error:
        print(f"minigrad: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Your lessons are in", folder)
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="minigrad", description="Opens the minigrad lessons in JupyterLab.")
    parser.add_argument("--version", action="version", version=f"minigrad {minigrad.__version__}")
    lab = parser.add_subparsers(dest="command", required=True).add_parser(
        "lab",
        help="open the lessons in JupyterLab",
        description="Copies the lessons to a folder of yours and opens JupyterLab on the first one. "
        "What you changed there is never written over.",
    )
    lab.add_argument("--to", default="minigrad-lessons", metavar="DIR", help="your folder (default: minigrad-lessons)")
    lab.add_argument("--port", type=_port, metavar="N", help="the port to use (default: the first free one from 8888)")
    lab.add_argument("--no-browser", action="store_true", help="print the address to open, and open no browser")
    lab.add_argument("--reset", type=int, metavar="NN", help="put lesson NN back as it was given, keep a backup, end")
    return parser


def _port(text: str) -> int:
    if not (text.isdecimal() and 0 < int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text} is not a port: it is a number from 1 to 65535")
    return int(text)


def _lab(folder: Path, options: argparse.Namespace) -> int:
    check_installed()
    port = choose_port(options.port)
    lessons = lessons_in.shipped()
    _tell(folder, lessons_in.fill(folder, lessons))
    # However this ends, a closed terminal included, the server ends with it.
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    with Lab(folder, next(iter(lessons)), port, browser=not options.no_browser) as lab:
        lab.wait_until_ready()
        print(f"\nOpen {lab.url}\nStop it with Ctrl-C.", flush=True)
        return lab.wait()


def _reset(folder: Path, number: int) -> int:
    name, backup = lessons_in.reset(folder, lessons_in.shipped(), number)
    print(f"{name} is as it was given, in {folder}")
    if backup:
        print(f"Yours is kept in {backup}")
    return 0


def _tell(folder: Path, report: Report) -> None:
    """Say what was done to the folder, and what was left alone."""
    print(f"Your lessons are in {folder}")
    for verb, names in (("added", report.added), ("renewed", report.updated)):
        for name in names:
            print(f"  {verb:8}{name}")
    for name in report.edited:
        newer = name in report.newer
        note = f" (there is a newer one: minigrad lab --reset {name[:2]} keeps yours and gets it)" if newer else ""
        print(f"  yours   {name}{note}")


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
