"""Files with weights from the web: mirrors part of `torch/hub.py`. They are kept in a folder, and fetched once."""

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from minigrad._base.optional import left_out
from minigrad.serialization import load as load_file

__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

WHY = "the code of a repository imports PyTorch; fetch the weights by `load_state_dict_from_url`"
HASH = re.compile(r"-([a-f0-9]*)\.")  # in a file name like resnet18-f37072fd.pth
DIRECTORY: list[str] = []


def get_dir() -> str:
    """The folder: `set_dir`'s, or `hub` in $TORCH_HOME, else in $XDG_CACHE_HOME/torch or ~/.cache/torch."""
    if DIRECTORY:
        return DIRECTORY[0]
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.join(os.path.expanduser(os.environ.get("TORCH_HOME", cache)), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep files in another folder from now on."""
    DIRECTORY[:] = [os.path.expanduser(d)]


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Fetch a file, whole or not at all. Raises RuntimeError if its SHA256 does not begin with `hash_prefix`."""
    target, digest = Path(os.path.expanduser(dst)), hashlib.sha256()
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source, \
            tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as part:
        try:
            while block := source.read(1 << 17):
                part.write(block)
                digest.update(block)
            part.close()
            if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
            shutil.move(part.name, target)
        finally:
            part.close()
            Path(part.name).unlink(missing_ok=True)


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
                             check_hash: bool = False, file_name: str | None = None,
                             weights_only: bool = False) -> dict[str, Any]:
    """Load a file from the folder, fetched now if it is not there.

    `model_dir`: another folder. `check_hash`: the file name ends in the first digits of its SHA256, as in
    `net-12ab.pth`.
    """
    folder = Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (file_name or os.path.basename(urlparse(url).path))
    if not target.exists():
        found = HASH.search(target.name) if check_hash else None
        download_url_to_file(url, str(target), found.group(1) if found else None, progress)
    state: dict[str, Any] = load_file(target, map_location=map_location, weights_only=weights_only)
    return state


globals().update(left_out(__name__, WHY, "load list help"))  # below all that calls Python's `list`
