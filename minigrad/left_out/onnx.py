"""Files for other programs, which PyTorch writes."""

from minigrad._base.optional import left_out

WHY = "minigrad writes no ONNX; save the state dict, load it in PyTorch, and export it there"
globals().update(left_out(__name__, WHY, """
    ExportableModule InputObserver ONNXProgram OnnxExporterError export is_in_onnx_export
"""))
