"""Distinguishes the code of notebook cells from that of files."""

__all__ = ["is_cell"]


def is_cell(file: str) -> bool:
    """Whether a code object's file name is that of a cell: in a kernel a temporary file that does not exist, in
    IPython's terminal a name in angle brackets."""
    return "ipykernel_" in file or file.startswith("<ipython-input")
