"""The command `minigrad`: opens JupyterLab on the lessons, in a folder that is the user's own.

    minigrad lab                     the lessons in ./minigrad-lessons, in the browser
    minigrad lab --to DIR            in another folder
    minigrad lab --no-browser        print the address instead
    minigrad lab --reset 3           put lesson 3 back as it was given; what was there is kept

    minigrad run -n 4 train.py       a program in four processes (minigrad.distributed.launch; needs no lessons)

The second time, the same folder is opened as it was left. For teachers:

    minigrad lessons release --to DIR              a folder to hand out, with no answers in it
    minigrad lessons release --to DIR --nbgrader   the same as a course for nbgrader
    minigrad lessons release --to DIR --marimo     the same as programs for marimo
    minigrad lessons collect HANDED-IN             take the progress files out of what students handed in, and report
    minigrad lessons report DIR                    what a class made of each lesson, from its progress files
    minigrad lessons load --kernels 30             how much memory and time a class needs of this machine
    minigrad lessons build                         in a checkout: make the notebooks again
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import minigrad
from minigrad_lessons import build, release
from minigrad_lessons import folder as lessons_in
from minigrad_lessons.folder import LessonError, Report
from minigrad_lessons.server import Lab, check_installed, check_user, choose_port
from minigrad_lessons.teaching import class_report, load
from minigrad_lessons.teaching.collect import collect

Commands = Any  # argparse has no public name for it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 0, or 1 after an error that was explained."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except LessonError as error:
        print(f"minigrad: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nStopped. Your lessons are in {_folder(options)}" if run is _lab else "\nStopped.")
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="minigrad", description="Opens the minigrad lessons in JupyterLab.")
    parser.add_argument("--version", action="version", version=f"minigrad {minigrad.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    _lab_options(commands)
    commands.add_parser("run", help="start a program in several processes: minigrad run -n 4 train.py", add_help=False)
    lessons = commands.add_parser("lessons", help="for teachers: hand the lessons out, measure, build")
    _lessons_options(lessons.add_subparsers(dest="task", required=True))
    return parser


def _lab_options(commands: Commands) -> None:
    lab = commands.add_parser(
        "lab",
        help="open the lessons in JupyterLab",
        description="Copies the lessons to a folder of yours and opens JupyterLab on the first one. "
        "What you changed there is never written over.",
    )
    lab.add_argument("--to", default="minigrad-lessons", metavar="DIR", help="your folder (default: minigrad-lessons)")
    lab.add_argument("--port", type=_port, metavar="N", help="the port to use (default: the first free one from 8888)")
    lab.add_argument("--no-browser", action="store_true", help="print the address to open, and open no browser")
    lab.add_argument("--allow-root", action="store_true", help="start also if you are root, as in a container")
    lab.add_argument("--reset", type=int, metavar="NN", help="put lesson NN back as it was given, keep a backup, end")
    lab.set_defaults(run=_lab)


def _lessons_options(tasks: Commands) -> None:
    handed = tasks.add_parser("release", help="write a folder to hand out, with no answers in it")
    handed.add_argument("--to", required=True, metavar="DIR", help="the folder")
    form = handed.add_mutually_exclusive_group()
    form.add_argument("--nbgrader", action="store_true", help="write a course for nbgrader")
    form.add_argument("--marimo", action="store_true", help="write programs for marimo, which must be installed")
    handed.set_defaults(run=_release)
    collected = tasks.add_parser("collect", help="take the progress files out of what students handed in, and report")
    collected.add_argument("folder", metavar="HANDED-IN", help="has a folder or a .zip for each student")
    collected.add_argument("--to", default="class", metavar="DIR", help="for the files and the pages (default: class)")
    collected.add_argument("--roster", metavar="FILE", help="students' names, a line each: reports who is missing")
    collected.add_argument("--names", action="store_true", help="add a table by student to the pages")
    collected.set_defaults(run=_collect)
    report = tasks.add_parser("report", help="write a page for each lesson on what a class made of it")
    report.add_argument("folder", metavar="DIR", help="the folder with the progress files, one for each student")
    report.add_argument("--to", default="class-report", metavar="DIR", help="for the pages (default: class-report)")
    report.add_argument("--names", action="store_true", help="add a table by student; without it the pages name nobody")
    report.set_defaults(run=_report)
    load = tasks.add_parser("load", help="run a lesson in many kernels at once; print memory and latency")
    load.add_argument("--kernels", type=int, default=30, metavar="N", help="how many students (default: 30)")
    load.add_argument("--lesson", type=int, default=4, metavar="NN", help="which lesson they run (default: 4)")
    load.set_defaults(run=lambda options: _load(options.kernels, options.lesson))
    making = tasks.add_parser("build", help="in a checkout: make the notebooks out of their sources, and run them")
    making.add_argument("names", nargs="*", metavar="NN", help="which (default: all)")
    making.set_defaults(run=lambda options: build.main(options.names))


def _port(text: str) -> int:
    if not (text.isdecimal() and 0 < int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text} is not a port: it is a number from 1 to 65535")
    return int(text)


def _folder(options: argparse.Namespace) -> Path:
    return Path(options.to).expanduser().absolute()


def _lab(options: argparse.Namespace) -> int:
    folder = _folder(options)
    if options.reset is not None:
        return _reset(folder, options.reset)
    check_installed()
    check_user(options.allow_root)
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


def _release(options: argparse.Namespace) -> int:
    folder = _folder(options)
    if options.nbgrader:
        names, command = release.nbgrader_course(folder), release.nbgrader_command()
        print(f"A course for nbgrader is in {folder}. There, for each of {', '.join(names)}:")
        print(f"  {command or 'nbgrader'} generate_assignment {names[0]}")
        if command is None:
            print(f"nbgrader is not installed yet: {shlex.join([sys.executable, '-m', 'pip', 'install', 'nbgrader'])}")
    elif options.marimo:
        names = release.marimo_set(folder)
        print(f"{len(names)} lessons for marimo are in {folder}: "
              f"{shlex.join([sys.executable, '-m', 'marimo', 'edit', str(folder / names[0])])}")
    else:
        report = release.student_set(folder)
        print(f"The lessons for students are in {folder}: {len(report.added)} added, {len(report.updated)} renewed, "
              f"{len(report.edited)} left as they were changed.")
    return 0


def _collect(options: argparse.Namespace) -> int:
    try:
        roster = Path(options.roster).read_text(encoding="utf-8").split("\n") if options.roster else []
    except (OSError, UnicodeDecodeError) as error:
        raise LessonError(f"The roster {options.roster} cannot be read ({error}).") from error
    files = _folder(options) / "progress"
    roster = [name.strip() for name in roster if name.strip()]
    names, missing = collect(Path(options.folder).expanduser(), files, roster)
    print(f"{len(names)} progress file{'' if len(names) == 1 else 's'} in {files}")
    return _tell_class(missing, class_report.write(files, _folder(options) / "report", options.names))


def _report(options: argparse.Namespace) -> int:
    return _tell_class([], class_report.write(Path(options.folder).expanduser(), _folder(options), options.names))


def _tell_class(missing: Sequence[str], written: class_report.Written) -> int:
    for error in (*missing, *written.errors):
        print(f"minigrad: {error}", file=sys.stderr)
    students, lessons = ("" if count == 1 else "s" for count in (written.students, written.lessons))
    print(f"{written.students} student{students}, {written.lessons} lesson{lessons}: open {written.index}")
    return 0


def _load(kernels: int, lesson: int) -> int:
    lessons = lessons_in.shipped()
    print(load.table(load.measure(lessons[lessons_in.find(lessons, lesson)], kernels)))
    return 0


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
