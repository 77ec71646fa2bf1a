"""The inspectors of minigrad: traces in, pictures that can be stepped out. They record nothing themselves."""

from minigrad_widgets.inspector import Inspector
from minigrad_widgets.state_card import StateCard, state_card

__all__ = ["Inspector", "StateCard", "state_card"]
