"""What `minigrad_widgets` exports, for type checkers: at run time each name is loaded when it is first used."""

from typing import Any

from minigrad_widgets.doctor import checkup as checkup
from minigrad_widgets.doctor import depends as depends
from minigrad_widgets.inspector.inspect import inspect as inspect
from minigrad_widgets.inspector.inspector import Inspector as Inspector
from minigrad_widgets.lenses.alias_view import AliasView as AliasView
from minigrad_widgets.lenses.checkpoints import Comparison as Comparison
from minigrad_widgets.lenses.checkpoints import compare as compare
from minigrad_widgets.lenses.compiled_step import CompiledStep as CompiledStep
from minigrad_widgets.lenses.parameter_ledger import ParameterLedger as ParameterLedger
from minigrad_widgets.lenses.rank_lanes import RankLanes as RankLanes
from minigrad_widgets.lenses.state_card import StateCard as StateCard
from minigrad_widgets.lenses.state_card import state_card as state_card
from minigrad_widgets.lenses.state_explorer import StateExplorer as StateExplorer
from minigrad_widgets.lenses.state_explorer import explore as explore
from minigrad_widgets.notebook.explain import explain as explain

def load_ipython_extension(shell: Any) -> None: ...
