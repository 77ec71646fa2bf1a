"""The same trace from PyTorch: `record()` reads PyTorch's own graph while a program runs, and changes nothing.

It mirrors `minigrad.recorder`: its traces are described by the same code, have the same schema (docs/trace.md), and are
shown by the same inspectors. PyTorch is imported here and nowhere else in the kit.
"""

from typing import TYPE_CHECKING

from minigrad._base.optional import optional

if TYPE_CHECKING:
    from minigrad_widgets.torch_reader.previews import array_of
    from minigrad_widgets.torch_reader.reader import record
else:
    record = optional("minigrad_widgets.torch_reader.reader", "torch").record
    array_of = optional("minigrad_widgets.torch_reader.previews", "torch").array_of

__all__ = ["array_of", "record"]
