"""A JupyterLab for one folder of lessons: started, waited for, stopped.

It keeps out of the user's own JupyterLab: the layout of its windows is kept in the lesson folder, and the settings
that it starts from (no news, no notices of updates) are in `lab_settings/` beside this file.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

import zmq

from minigrad_lessons.folder import HIDDEN, LessonError

HOST = "127.0.0.1"
FIRST_PORT = 8888
PORTS_TRIED = 50
PROGRAM = "jupyterlab"
STARTUP = Path(__file__).with_name("startup.py")


def check_installed() -> None:
    """Raise where JupyterLab is missing, which nothing here imports: it runs as a program of its own."""
    if find_spec(PROGRAM) is None:
        raise LessonError(f'{PROGRAM} is not installed. It comes with: python -m pip install "minigrad-kit[lessons]"')


def check_user(allow_root: bool) -> None:
    """Raise if the user is root and has not said that this is meant."""
    if is_root() and not allow_root:
        raise LessonError(
            "You are root, and every cell of a notebook could change this whole machine. Start this as another user. "
            "If it is meant, as in a container, add --allow-root."
        )


def is_root() -> bool:
    """Whether this process may do everything on this machine; False where there is no such user."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def choose_port(wanted: int | None) -> int:
    """The wanted port, if it is free; else the first free one from 8888 on."""
    if wanted is not None:
        if not _is_free(wanted):
            raise LessonError(f"Port {wanted} is in use. Choose another, or leave --port out to have one found.")
        return wanted
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        if _is_free(port):
            return port
    raise LessonError(f"Ports {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} are all in use. Choose one with --port.")


class Lab:
    """One JupyterLab process; `with Lab(...) as lab:` stops it at the end, and its kernels with it."""

    def __init__(self, folder: Path, lesson: str, port: int, browser: bool = True) -> None:
        self.port, self.token = port, secrets.token_hex(24)
        self.url = f"http://{HOST}:{port}/lab/tree/{lesson}?token={self.token}"
        command = [sys.executable, "-m", "minigrad_lessons.watched", *_options(folder, lesson, port, browser)]
        # The token goes by the environment: other users can read a command line.
        # A startup file of the user's own goes before that of the lessons.
        environment = {"PYTHONSTARTUP": str(STARTUP), **os.environ, "JUPYTER_TOKEN": self.token}
        # Its own session, so that Ctrl-C reaches this process only, which then stops the server in good order.
        # Its standard input is a pipe, by which it sees that this process is gone.
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, start_new_session=True)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def wait_until_ready(self, seconds: float = 90.0) -> None:
        """Return when the server answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise LessonError(f"JupyterLab stopped at once (exit status {self.process.returncode}); see above.")
            if self._answers():
                return
            time.sleep(0.1)
        raise LessonError(f"JupyterLab did not answer on port {self.port} within {seconds:.0f} seconds.")

    def wait(self) -> int:
        """Return its exit status when it ends."""
        return self.process.wait()

    def stop(self) -> None:
        """Ask it to end; insist after ten seconds."""
        if self.process.poll() is not None:
            return
        # A request ends it and nothing is printed; at a signal it prints a line that reads like an error.
        if self._answers():
            self._request("POST", "/api/shutdown", seconds=10)
        else:
            self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _answers(self) -> bool:
        return self._request("GET", "/api/status", seconds=2) == 200

    def _request(self, method: str, path: str, seconds: float) -> int | None:
        """The status of the answer, or None where there is none."""
        headers = {"Authorization": f"token {self.token}"}
        request = Request(f"http://{HOST}:{self.port}{path}", headers=headers, method=method)
        try:
            # No proxy: the server is on this machine.
            with build_opener(ProxyHandler({})).open(request, timeout=seconds) as answer:
                return int(answer.status)
        except (URLError, OSError):
            return None


def _options(folder: Path, lesson: str, port: int, browser: bool) -> list[str]:
    settings = Path(__file__).resolve().parent / "lab_settings"
    options = [
        f"--ServerApp.ip={HOST}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
        f"--ServerApp.open_browser={browser}",
        f"--LabApp.default_url=/lab/tree/{lesson}",
        f"--LabApp.app_settings_dir={settings}",
        f"--LabApp.workspaces_dir={folder / HIDDEN / 'workspaces'}",
        "--Application.log_level=ERROR",
    ]
    if zmq.has("curve"):
        # What server and kernel say to each other is then encrypted; otherwise each kernel warns that it is not.
        options.append("--KernelManager.transport_encryption=auto")
    return [*options, "--allow-root"] if is_root() else options  # `check_user` has asked already


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            # As the server itself does: a port whose last connection is still closing is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
