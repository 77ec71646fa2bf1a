"""A real JupyterLab for tests: started on a free port, with its own settings, driven through Chromium.

What makes it not flake: a notebook is run only after the server says that its session has an idle kernel with a
connection. The page's own indicator reads "idle" before there is a session, and "Run All" then does nothing.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import nbformat
from playwright.sync_api import Browser, Locator, Page, TimeoutError, expect, sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
FLAGS += ["--disable-background-networking", "--no-first-run"]
SHIPPED = json.loads((files("minigrad_lessons") / "lab_settings" / "overrides.json").read_text(encoding="utf-8"))
TRACKER = "@jupyterlab/notebook-extension:tracker"
WHOLE = json.dumps({**SHIPPED[TRACKER], "windowingMode": "none"})  # the shipped settings, and all cells in the page
PATIENCE = 90.0
expect.set_options(timeout=PATIENCE * 1000)  # 5 seconds are few on a busy machine


ASK = """
import json, sys
from jupyter_client import BlockingKernelClient
client = BlockingKernelClient(connection_file=sys.argv[1])
client.load_connection_file()
client.start_channels()
client.wait_for_ready(timeout=60)
asked = {"it": sys.argv[2]}
reply = client.execute_interactive("", user_expressions=asked, timeout=60, output_hook=lambda message: None)
found = reply["content"]["user_expressions"]["it"]
client.stop_channels()
if found["status"] != "ok":
    sys.exit(str(found))
print(json.dumps(found["data"]["text/plain"]))
"""


class Lab:
    """A running server: its folder of notebooks, and what its API says."""

    def __init__(self, port: int, token: str, folder: Path, home: Path) -> None:
        self.port, self.token, self.folder, self.home = port, token, folder, home

    def address(self, path: str) -> str:
        """An address on this server, with its token."""
        return f"http://127.0.0.1:{self.port}/{path}{'&' if '?' in path else '?'}token={self.token}"

    def ask(self, path: str, method: str = "GET") -> Any:
        """What the server's API answers."""
        with urlopen(Request(self.address(path), method=method), timeout=PATIENCE) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def write(self, name: str, *cells: str) -> str:
        """Writes a notebook of code cells into the folder."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.folder / name)
        return name

    def session(self, name: str, idle: bool = True) -> dict[str, Any] | None:
        """The session of a notebook; by default only once its kernel is idle and the page is connected to it."""
        for session in self.ask("api/sessions"):
            kernel = session["kernel"] or {}
            rests = kernel.get("execution_state") == "idle" and kernel.get("connections", 0) >= 1
            if session["path"] == name and (rests or not idle):
                return dict(session)
        return None

    def evaluate(self, name: str, code: str) -> str:
        """What an expression is in a notebook's kernel, as text; it waits its turn behind the cells."""
        session = self.session(name, idle=False)
        assert session is not None, f"{name} has no kernel"
        file = self.home / "runtime" / f"kernel-{session['kernel']['id']}.json"
        # In a process of its own: the browser's driver keeps an event loop here, and the client wants another one.
        answer = subprocess.run([sys.executable, "-c", ASK, file, code], capture_output=True, text=True, timeout=120)
        assert answer.returncode == 0, answer.stderr
        return str(json.loads(answer.stdout))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(home: Path, theme: str) -> None:
    """JupyterLab's settings: those that `minigrad lab` starts from, and a theme."""
    chosen = {**SHIPPED, "@jupyterlab/apputils-extension:themes": {"theme": theme}}
    for name, settings_of in chosen.items():
        file = home / "settings" / f"{name.replace(':', '/')}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings_of))


def environment(home: Path) -> dict[str, str]:
    """This process's environment, with Jupyter's own folders in `home`, and kernels that show their plots."""
    names = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
    names |= {"IPYTHONDIR": "ipython", "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    for folder in names.values():
        (home / folder).mkdir(parents=True, exist_ok=True)
    own = {name: str(home / folder) for name, folder in names.items()}
    inherited = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    return {**inherited, **own, "JUPYTER_PLATFORM_DIRS": "1", "JUPYTER_NO_CONFIG": ""}


@contextmanager
def lab(folder: Path, home: Path, theme: str = "JupyterLab Light") -> Iterator[Lab]:
    """Starts a JupyterLab on a folder, and ends it, and only it."""
    port, token = free_port(), secrets.token_hex(12)
    own = environment(home)
    settings(home, theme)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}"]
    command += [f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None", "--LabApp.collaborative=False"]
    with open(home / "server.log", "wb") as log:
        server = subprocess.Popen(command, env=own, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        try:
            running = Lab(port, token, folder, home)
            _await_server(running, server)
            yield running
        finally:
            server.terminate()
            try:
                server.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _await_server(running: Lab, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended:\n{(running.home / 'server.log').read_text()[-3000:]}")
        try:
            running.ask("api/status")
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not answer:\n{(running.home / 'server.log').read_text()[-3000:]}")


@contextmanager
def chrome(executable: str, *flags: str) -> Iterator[Browser]:
    """A Chromium; `flags`: what else it is started with."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=[*FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


def open_notebook(page: Page, running: Lab, name: str) -> dict[str, Any]:
    """Opens a notebook and waits until the server says that its kernel is idle and connected; gives its session."""
    page.goto(running.address(f"lab/tree/{name}?reset"), wait_until="domcontentloaded")
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=PATIENCE * 1000)
    return await_idle(page, running, name)


def await_idle(page: Page, running: Lab, name: str) -> dict[str, Any]:
    """Waits until the server says that a notebook's kernel is idle and connected; gives its session."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        session = running.session(name)
        if session is not None:
            return session
        page.wait_for_timeout(200)  # never time.sleep: the driver must go on dispatching
    raise AssertionError(f"{name} has no idle kernel")


def run_all(page: Page, running: Lab, name: str) -> None:
    """Runs all cells by the menu, and sees that they were taken: their numbers change."""
    await_idle(page, running, name)
    prompts = page.locator(".jp-CodeCell .jp-InputPrompt")
    before = prompts.all_text_contents()
    for _ in range(3):
        page.locator(".lm-MenuBar-itemLabel:text-is('Run')").click()
        page.locator("li[data-command='runmenu:run-all']").click()
        for _ in range(300):
            if prompts.all_text_contents() != before:
                return
            page.wait_for_timeout(100)
    raise AssertionError(f"{name}: no cell was run")


def saved(page: Page, running: Lab, name: str, patience: float = PATIENCE) -> Any:
    """The notebook as JupyterLab saves it, once its last cell has run; it is saved when the kernel seems to be done,
    since to write all that the widgets hold takes the page longer than many a cell."""
    end, code = time.monotonic() + patience, []
    while time.monotonic() < end:
        idle = running.session(name) is not None
        page.wait_for_timeout(500)
        if not idle or running.session(name) is None:
            continue
        page.keyboard.press("Control+s")
        page.wait_for_timeout(500)
        try:
            notebook = nbformat.read(running.folder / name, as_version=4)
        except nbformat.reader.NotJSONError:  # it is being written
            continue
        code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source]
        if all(cell.execution_count for cell in code):
            return notebook
    waiting = [cell.id for cell in code if not cell.execution_count]
    raise AssertionError(f"{name} was not saved, or these cells did not run: {waiting}")


def switch(page: Page, theme: str, light: str) -> None:
    """Chooses a theme by the menu."""
    page.locator(".lm-MenuBar-itemLabel:text-is('Settings')").click()
    page.locator(".lm-Menu-itemLabel:text-is('Theme')").hover()
    page.locator(f".lm-Menu-itemLabel:text-is('{theme}')").click()
    page.locator(f"body[data-jp-theme-light='{light}'][data-jp-theme-name='{theme}']").wait_for(state="attached")
    page.wait_for_function("""light => {
      const { backgroundColor } = getComputedStyle(document.querySelector('.mg-root'));
      const [r, g, b] = backgroundColor.match(/[0-9]+/g).map(Number);
      return (r + g + b > 384) === (light === 'true');
    }""", arg=light)


def first_inspector(page: Page, patience: float = PATIENCE) -> Locator:
    """The first inspector of a page, once it is there; what the cells printed, where it does not come."""
    root = page.locator(".mg-root").first
    try:
        root.wait_for(timeout=patience * 1000)
    except TimeoutError as late:
        printed = "\n".join(page.locator(".jp-OutputArea-output").all_inner_texts())
        raise AssertionError(f"no inspector came; the cells printed:\n{printed}") from late
    return root
