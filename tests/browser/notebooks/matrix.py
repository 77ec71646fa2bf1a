"""Writes docs/notebooks.md, on the notebooks that the widgets work in: `python -m tests.browser.notebooks.matrix`.

A cell of the matrix is the name of the test that tries it, or words: what was tried by hand, or that it was not, and
why. tests/browser/notebooks/test_matrix.py holds the page to this file, and each name to a test that exists.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "notebooks.md"
COLUMNS = ("notebook", "inspector", "keys", "predictions", "opened the next day")
NEXT_DAY = "tests/browser/test_next_day.py::test_a_notebook_is_the_same_the_next_day"
SEVEN = "tests/browser/test_notebooks.py::test_notebook_7_and_a_kernel_that_is_gone"
LITE = "tests/wasm/lab/test_lab.py::test_another_lesson_and_what_was_changed_is_kept"
UNTRIED, LATELY = "untried", "by hand: test_next_day.py passes with 4.4.10"
ROWS = [
    ("JupyterLab, newest", "tests/browser/test_lab.py::test_every_step_by_keyboard",
     "tests/browser/test_notebooks.py::test_no_key_gets_out",
     "tests/browser/test_student.py::test_a_student_begins_a_lesson", NEXT_DAY),
    ("JupyterLab 4.4", LATELY, UNTRIED, LATELY, LATELY),
    ("Notebook 7", SEVEN, SEVEN, NEXT_DAY, NEXT_DAY),
    ("nbclassic 1.3", "by hand: nine widgets", "by hand: → steps", "by hand: an answer is taken",
     "by hand: pictures and an answer, and the keys still step"),
    ("JupyterLite", "tests/wasm/lab/test_lab.py::test_the_first_lesson_is_a_small_download", UNTRIED, LITE, LITE),
    ("marimo 0.25", "by hand: drawn, with its source", "by hand: → steps, letters do not reach the cells",
     "by hand: a card to click, judged by the kernel", "by hand: all 19 of lesson 1, while its session runs"),
    ("VS Code", *[UNTRIED] * 4),
    ("Colab", *[UNTRIED] * 4),
]
TEXT = """# Which notebooks the widgets work in

<!-- made by `python -m tests.browser.notebooks.matrix` -->
{table}

A link leads to the test that tries it. "By hand" was tried in Chromium on 29 and 30 November 2026.

- **JupyterLab and Notebook 7** look for a widget for two seconds, not once more after them, and show "model not found"
  for good if it came meanwhile, as on a busy machine. Ours are drawn then ([test](../tests/browser/test_next_day.py)).
- **nbclassic** has rules for every drawing, text and element in an output. Ours outweigh them ([test]({hosts})): a
  chart of bytes held was 1,329 pixels high. By itself it saves widgets only if asked to from a menu; ours are saved
  with the notebook. Run as soon as its kernel was there, on a busy machine, a notebook lacked outputs twice ("Host is
  not attached", says the widget manager); run a quarter of a minute later, it lacked none.
- **JupyterLite** fetches at most 25 MB for a first lesson, and a cell run in place on the site at most 10.5 MB (10.3
  when last measured), as a host sends them, compressed: [tests](../tests/wasm/lab) hold both.
- **marimo.** `minigrad lessons release --to DIR --marimo` writes the lessons as marimo's programs
  ([test]({release})). `predict`, `reveal` and `recall` show cards. `marimo convert` by itself leaves out the
  picture that a lesson attaches to its text.
- **VS Code** is untried, for want of one that a test can drive. Its Jupyter extension loads a widget's library from a
  network unless it is installed beside the kernel, and marks a dark theme by the class that our styles look for.
- **Colab** is untried, since it needs an account. Kept are its rules: the bundle of a widget carries what Colab's own
  widget manager asks for, and `pip install "minigrad-kit[widgets]"` changes no package of the runtime, of which
  ipywidgets stays at 7.7.1 ([test]({colab})).
- **A notebook that a program ran.** nbconvert and papermill run notebooks by nbclient, and our widgets then put their
  picture into the output, not a view that a page would load from a network. HTML, slides, Markdown and PDF show it
  ([test]({exports})). Its alternative text is in the output; of nbconvert's templates `classic` uses it, `lab` and
  Markdown do not. A PDF is printed from the HTML; by way of LaTeX it is untried. Of a notebook that was run
  and saved in a browser, a page shows pictures too if it is told to leave out the widgets' state:
  `jupyter nbconvert --to html --ClearMetadataPreprocessor.enabled=True`.
- **papermill** runs every lesson with exit status 0 ([test]({papermill})).
"""


def cell(what: str) -> str:
    """Return a cell as the page has it: a link to its test, or the words."""
    file, _, test = what.partition("::")
    return f"[tested](../{file})" if test else what


def page() -> str:
    """Return the page."""
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(tuple(map(cell, row)) for row in ROWS)]
    here = "../tests/browser/notebooks"
    return TEXT.format(table="\n".join(f"| {' | '.join(row)} |" for row in rows),
                       hosts=f"{here}/test_hosts.py", exports=f"{here}/test_exports.py",
                       colab="../tests/packaging/test_colab.py", papermill="../tests/lessons/test_papermill.py",
                       release="../tests/lessons/test_release.py")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
