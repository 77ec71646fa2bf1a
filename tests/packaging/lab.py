"""Runs `minigrad lab` as a user does, and asks its server questions."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

ADDRESS = re.compile(r"Open (http://127\.0\.0\.1:(\d+)/lab/tree/(\S+)\?token=(\w+))")


@dataclass
class Running:
    """A lab that has printed its address."""

    process: subprocess.Popen[str]
    said: str
    url: str
    port: int
    lesson: str
    token: str

    def get(self, path: str) -> bytes:
        """The answer of the server to a request with its token."""
        address = f"http://{urlsplit(self.url).netloc}{path}"
        request = Request(address, headers={"Authorization": f"token {self.token}"})
        with build_opener(ProxyHandler({})).open(request, timeout=60) as answer:
            return bytes(answer.read())

    def json(self, path: str) -> Any:
        """The same, read as JSON."""
        return json.loads(self.get(path))


def heed_interrupts() -> None:
    """A shell starts what it runs in the background deaf to SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def lab(command: Sequence[str | Path], cwd: Path, end: int = signal.SIGTERM, seconds: float = 120) -> Iterator[Running]:
    """Start the command, wait for its address; end it with a signal, and see that it ends well if it can."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True, env=environment,
                               preexec_fn=heed_interrupts if os.name == "posix" else None)
    # Ends a command that says nothing, so that the loop below ends too.
    alarm = threading.Timer(seconds, process.kill)
    alarm.start()
    try:
        said = ""
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if found := ADDRESS.search(said):
                break
        else:
            raise AssertionError(f"no address in what it printed:\n{said}")
        alarm.cancel()
        url, port, lesson, token = found.groups()
        yield Running(process, said, url, int(port), lesson, token)
    finally:
        alarm.cancel()
        process.send_signal(end)
        process.communicate(timeout=120)
    assert process.returncode == (-end if os.name == "posix" and end == signal.SIGKILL else 0)
