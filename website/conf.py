"""Sphinx's settings for the site. The pages that it reads are gathered by `python -m website`, which also calls it.

Nothing is taken from another host: no font, no script, no formula renderer. The site works from a folder, offline.
"""

import re

from sphinx.application import Sphinx

from minigrad import __version__
from website import search
from website.pages import REPOSITORY

project = "minigrad"
author = copyright = "The minigrad authors"
version = release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md"]

html_theme = "furo"
html_title = "minigrad"
html_favicon = "static/favicon.svg"
html_static_path = ["static", "../widgets/minigrad_widgets/static"]
html_css_files = ["inspector.css", "site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # the browser may not read other pages of a folder, and would say so in red
html_theme_options = {"source_repository": REPOSITORY, "source_branch": "main", "source_directory": "docs/",
                      "top_of_page_buttons": []}
pygments_style, pygments_dark_style = "a11y-light", "github-dark"  # every letter at 4.5:1 or more

nb_execution_mode = "off"  # the lessons were run when they were gathered, with their inspectors
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_number_source_lines = False
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline", "colon_fence"]

toc_object_entries = False  # thousands of them, in every page's navigation: most of the time of a build
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
default_role = "code"  # docstrings put code in single backquotes


# What the markup of docstrings means to Sphinx and not to their authors: they write plain text with code in backquotes.
MEANT = re.compile(r"`[^`]*`|[*|]|_(?=\W|$)")


def plain(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Let the lines of a docstring stand as they are written, but for code in backquotes."""
    def literal(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith("`") else f"\\{found[0]}"

    lines[:] = [MEANT.sub(literal, line) for line in lines]


def setup(app: Sphinx) -> None:
    """Docstrings are read before napoleon looks for their sections."""
    app.connect("autodoc-process-docstring", plain, priority=100)
    search.connect(app)
