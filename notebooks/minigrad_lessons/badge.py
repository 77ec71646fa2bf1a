"""A small picture with one line in it: what may differ from machine to machine is shown here and not printed."""

from base64 import b64encode
from io import BytesIO

from minigrad._base.optional import optional

INK, PAPER, LINE = "#1d2127", "#f4f6f8", "#7a828e"


class Badge:
    """One line of text as a picture; its printed form is the same whatever the line says."""

    def __init__(self, line: str) -> None:
        self.line = line

    def __repr__(self) -> str:
        return "(the picture says whether this run was live or stored)"

    def png(self) -> bytes:
        """The picture, in the size of its text."""
        figure = optional("matplotlib.figure", "lessons").Figure(dpi=100)
        figure.text(0.0, 0.0, f"PyTorch's side is {self.line}", color=INK, fontsize=9,
                    bbox={"boxstyle": "round,pad=0.5", "facecolor": PAPER, "edgecolor": LINE, "linewidth": 0.8})
        out = BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight", pad_inches=0.15, facecolor="none",
                       metadata={"Software": None})
        return out.getvalue()

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/plain": repr(self), "image/png": b64encode(self.png()).decode()}
