"""Runs JupyterLab for as long as the process that started it lives, however that one ends.

`python -m minigrad_lessons.watched OPTIONS` reads its standard input, a pipe whose other end `minigrad lab` holds. The
pipe closes when that process is gone, also if it was killed and could stop nothing; then the server ends, too.
"""

from __future__ import annotations

import os
import runpy
import signal
import threading


def end_with_parent() -> None:
    """Wait for the other end of the pipe to close; then ask this process to end in good order.

    Not by `sys.stdin`: its lock would be held while the interpreter ends, which is a fatal error.
    """
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    runpy.run_module("jupyterlab", run_name="__main__", alter_sys=True)
