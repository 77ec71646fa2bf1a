"""Builds the site: `python -m website` writes it into website/build/html, `python -m website --to DIR` elsewhere.

The pages are gathered in one folder, and Sphinx makes the site of it. Its warnings are errors: a link that leads
nowhere stops the build. Beside them, in `lab`, is JupyterLite with all lessons; where Pyodide cannot be fetched, the
site has none, and the build says so.
"""

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from minigrad import __version__
from minigrad_widgets.widget.page import player_page
from website import api, cells, course, pages
from website.cheatsheet import write_sheet
from website.front import front_page
from website.gallery import live_gallery
from website.lab import build_lab, why_no_lab
from website.lessons import copy_lessons

HERE = Path(__file__).parent


def gather(source: Path, lab: bool) -> None:
    """Put all that Sphinx reads into an empty folder. `lab`: whether the lessons can be run in the site itself."""
    source.mkdir(parents=True)
    shutil.copytree(pages.ROOT / "docs" / "images", source / "images")
    (source / "index.md").write_text(front_page(lab), encoding="utf-8")
    pages.copy_pages(source, {"gallery.md": live_gallery, "questions.md": pages.to_cells})
    (source / "print").mkdir()
    write_sheet(source / "print")
    api.write_pages(source / "api")
    copy_lessons(source / "lessons", __version__, lab)


def main() -> int:
    """Gather and build."""
    parser = argparse.ArgumentParser(prog="python -m website", description="Builds the site of minigrad.")
    parser.add_argument("--to", type=Path, default=HERE / "build" / "html", help="the folder for the site")
    target = parser.parse_args().to.resolve()
    gathered = target.with_name(f"{target.name}-source")
    for old in (gathered, target):
        shutil.rmtree(old, ignore_errors=True)
    why = why_no_lab()
    gather(gathered, not why)
    failed = build_main(["-b", "html", "-c", str(HERE), "-W", "--keep-going", "-q", "-j", "2",
                       "-d", str(target.with_name(f"{target.name}-doctrees")), str(gathered), str(target)])
    if not failed:
        course.write_pictures(target)
        (target / "play.html").write_text(player_page(), encoding="utf-8")
        if why:
            print(f"The site has no lab, in which lessons run in the browser: {why}.")
        else:
            build_lab(target / "lab")
            cells.complete(target)
        print(f"The site is in {target}: open {target / 'index.html'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
