"""Several ranks on one time axis, as a picture: `lanes(ranks(2, step))`, where `step` returns its recording."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from minigrad._base.optional import optional
from minigrad.recorder import Trace

__all__ = ["Lanes", "lanes"]


class Lanes:
    """The picture of `minigrad_widgets.rank_lanes`. Its printed form has no times, which differ from run to run."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self.traces, self.drawing = traces, optional("minigrad_widgets.rank_lanes", "lessons")

    def __repr__(self) -> str:
        """What each rank called, in words."""
        return "\n".join(f"rank {lane.rank}: {'; '.join(each.label for each in lane.operations)}"
                         for lane in map(self.drawing.lane_of, self.traces))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        out = BytesIO()
        self.drawing.rank_lanes(self.traces).savefig(out, format="png", metadata={"Software": None})
        return {"text/plain": repr(self), "image/png": b64encode(out.getvalue()).decode()}


def lanes(traces: Sequence[Trace]) -> Lanes:
    """A lane for each recording. They have to be made by `record(times=True)`, on ranks."""
    return Lanes(traces)
