"""Whole graphs ahead of time, which minigrad leaves to PyTorch."""

from minigrad._base.optional import left_out

WHY = "minigrad exports no graphs; `minigrad.compile` shows the program of a step, and `minigrad.recorder` records one"
globals().update(left_out(__name__, WHY, """
    AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature ExportGraphSignature ExportedProgram
    FlatArgsAdapter ModuleCallEntry ModuleCallSignature ShapesCollection UnflattenedModule default_decompositions
    dims draft_export export load register_dataclass save unflatten
"""))
