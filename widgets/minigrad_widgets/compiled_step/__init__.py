"""The view of a compiled step, and its still picture."""

from minigrad_widgets.compiled_step.step import CompiledStep as CompiledStep
