"""A small picture with one line in it: what may differ from machine to machine is shown here and not printed."""

import sys
from base64 import b64encode
from html import escape
from io import BytesIO

from minigrad._base.optional import optional

SVG = ('<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="28" font-family="sans-serif" font-size="12.5">'
       '<rect x="1.5" y="1.5" width="{inner}" height="25" rx="6" fill="{paper}" stroke="{line}" stroke-width="0.8"/>'
       '<text x="9" y="18.5" fill="{ink}" textLength="{length}">{text}</text></svg>')
LETTER = 6.2  # the width of one, in pixels
INK, PAPER, LINE = "#1d2127", "#f4f6f8", "#7a828e"


class Badge:
    """One line of text as a picture; its printed form is the same whatever the line says."""

    def __init__(self, line: str) -> None:
        self.line = line

    def __repr__(self) -> str:
        return "(the picture says whether this run was live or stored)"

    @property
    def text(self) -> str:
        """What the picture says."""
        return f"PyTorch's side is {self.line}"

    def svg(self) -> str:
        """The picture as SVG, which needs no matplotlib."""
        length = round(len(self.text) * LETTER)
        return SVG.format(width=length + 19, inner=length + 16, length=length, ink=INK, paper=PAPER, line=LINE,
                          text=escape(self.text, quote=False))

    def png(self) -> bytes:
        """The picture, in the size of its text."""
        figure = optional("matplotlib.figure", "lessons").Figure(dpi=100)
        figure.text(0.0, 0.0, self.text, color=INK, fontsize=9,
                    bbox={"boxstyle": "round,pad=0.5", "facecolor": PAPER, "edgecolor": LINE, "linewidth": 0.8})
        out = BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight", pad_inches=0.15, facecolor="none",
                       metadata={"Software": None})
        return out.getvalue()

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        if sys.platform == "emscripten":  # matplotlib is 10 MB to fetch
            return {"text/plain": repr(self), "image/svg+xml": self.svg()}
        return {"text/plain": repr(self), "image/png": b64encode(self.png()).decode()}
