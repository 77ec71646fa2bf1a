"""The autograd doctor: `explain` says why a program raised, `checkup` what is wrong with a training step,
`depends` which part of an output depends on which part of an input.

It reads the traces of both recorders and imports no widget, so it also runs in a script, in CI and under pytest.
"""

from minigrad_widgets.doctor.checkup import checkup
from minigrad_widgets.doctor.depends import Dependence, depends
from minigrad_widgets.doctor.explain import Explanation, explain
from minigrad_widgets.doctor.findings import Finding, Mend, Place
from minigrad_widgets.doctor.report import Report

__all__ = ["Dependence", "Explanation", "Finding", "Mend", "Place", "Report", "checkup", "depends", "explain"]
