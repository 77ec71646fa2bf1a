"""The inspectors of minigrad: they turn traces into pictures to step through, and record nothing themselves.

`inspect` calls the recorder and shows the result; `explain` and `checkup` say what is wrong with a program. In a
notebook, importing this package registers `%%inspect` and `%%explain`.
"""

from IPython.core.getipython import get_ipython

from minigrad_widgets.alias_view import AliasView
from minigrad_widgets.comparison import Comparison, compare
from minigrad_widgets.compiled_step import CompiledStep
from minigrad_widgets.doctor import checkup
from minigrad_widgets.doctor_card import explain
from minigrad_widgets.inspector import Inspector
from minigrad_widgets.parameter_ledger import ParameterLedger
from minigrad_widgets.rank_lanes import RankLanes
from minigrad_widgets.show import inspect, load_ipython_extension
from minigrad_widgets.state_card import StateCard, state_card
from minigrad_widgets.state_explorer import StateExplorer
from minigrad_widgets.states import explore

__all__ = ["AliasView", "Comparison", "CompiledStep", "Inspector", "ParameterLedger", "RankLanes", "StateCard",
           "StateExplorer", "checkup", "compare", "explain", "explore", "inspect", "load_ipython_extension",
           "state_card"]

if (shell := get_ipython()) is not None:
    load_ipython_extension(shell)
