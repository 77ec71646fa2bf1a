"""The site's search: first the pages that say most about a word, and nothing of the teachers' pages on the lessons.

Sphinx knows whether a page has a word, not how often, and puts all that have it into the order of the alphabet. Here
each page is counted as it is indexed, and the search page is given the counts.
"""

import json
from collections import Counter
from collections.abc import Mapping
from math import sqrt
from pathlib import Path

from docutils import nodes  # type: ignore[import-untyped]  # it has no types
from sphinx.application import Sphinx

FOR_TEACHERS = "teaching/"  # answers, and what is said to wrong ones
MOST = 9  # the weight of the page that says most about a word
SCORER = Path(__file__).with_name("search.js")


def connect(app: Sphinx) -> None:
    """Let a build of the site index its pages so."""
    app.connect("builder-inited", _count)


def _count(app: Sphinx) -> None:
    if not hasattr(app.builder, "index_page"):  # a builder that makes no search
        return
    index, words = app.builder.index_page, dict[str, Counter[str]]()

    def index_page(name: str, doctree: nodes.document, title: str) -> None:
        if name.startswith(FOR_TEACHERS):
            return
        index(name, doctree, title)
        language = getattr(app.builder, "indexer").lang  # noqa: B009  # it is the HTML builder's alone
        text = "" if "nosearch" in app.env.metadata.get(name, {}) else _text(doctree)
        stems = (language.stem(word.lower()) for word in language.split(text))
        words[name] = Counter(stem for stem in stems if language.word_filter(stem))  # none of "the" and "of"

    def finished(app: Sphinx, failure: Exception | None) -> None:
        if failure is None:
            tools = Path(app.outdir) / "_static" / "searchtools.js"
            weighed = json.dumps(weights(words), separators=(",", ":"))
            tools.write_text(f"const WEIGHTS = {weighed};\n{SCORER.read_text(encoding='utf-8')}"
                             f"{tools.read_text(encoding='utf-8')}", encoding="utf-8")

    app.builder.index_page = index_page
    app.connect("build-finished", finished)


def _text(doctree: nodes.document) -> str:
    """What a reader sees of a page, without the scripts and the data of its pictures."""
    return " ".join(text.astext() for text in doctree.findall(nodes.Text) if not isinstance(text.parent, nodes.raw))


def weights(words: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    """By word that several pages have, and by page: how much the page says about it, up to `MOST`. Left out are pages
    that have it once, or say less than half of what another says.

    A page of twice the length may have a word more often and yet be less about it.
    """
    pages_with = Counter(word for counted in words.values() for word in counted)
    shares: dict[str, dict[str, float]] = {}
    for page, counted in words.items():
        for word, count in counted.items():
            if count > 1 and pages_with[word] > 1:
                shares.setdefault(word, {})[page] = count / sqrt(counted.total())
    return {word: {page: round(MOST * share / max(pages.values())) for page, share in pages.items()
                   if 2 * share > max(pages.values())}
            for word, pages in shares.items()}
