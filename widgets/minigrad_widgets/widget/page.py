"""A widget as a page of its own: everything is inside, with no network requests."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from minigrad.recorder import replace_file
from minigrad_widgets.address import SITE

STATIC = Path(__file__).parent.parent / "static"
PAGE = """<!doctype html>
<html lang="en" data-minigrad-page>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>minigrad inspector</title>
<style>
{style}
body {{ margin: 24px; background: #fff; }}
.mg-dark body {{ background: #0d0f12; }}
</style>
</head>
<body>
<main data-minigrad="state" aria-label="minigrad inspector"></main>
<script type="application/json" id="state">{state}</script>
<script type="module">
{player}
</script>
</body>
</html>
"""

# What "copy as link" leads to: the site's page that shows the recording in the address's fragment.
PLAYER = f"{SITE}/play.html"
# The recording comes from whoever made the link: the page runs only its own script, and requests nothing.
PLAYER_PAGE = """<!doctype html>
<html lang="en" data-minigrad-page>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; base-uri 'none'">
<meta name="viewport" content="width=device-width">
<title>A recording - minigrad</title>
<style>
{style}
body {{ margin: 24px; background: #fff; }}
.mg-dark body {{ background: #0d0f12; color: #e8eaed; }}
</style>
</head>
<body>
<main data-minigrad-link aria-label="minigrad inspector"></main>
<script type="module">{player}</script>
</body>
</html>
"""


def data_of(name: str, value: Any) -> str:
    """Return a trait as JSON. A trace is JSON already: as a string inside JSON it would be half as large again."""
    if name == "trace":
        return str(value)
    if name == "traces":
        return f"{{{', '.join(f'{json.dumps(key)}: {trace}' for key, trace in value.items())}}}"
    return json.dumps(value)


def write_page(state: Mapping[str, Any], path: str | os.PathLike[str] | None) -> str:
    """Return the page around a widget's state, also written to `path` if given."""
    fields = [f"{json.dumps(name)}: {data_of(name, value)}" for name, value in state.items()]
    written = f"{{{', '.join(fields)}}}".replace("<", "\\u003c")
    style = (STATIC / "inspector.css").read_text(encoding="utf-8")
    page = PAGE.format(style=style, state=written, player=(STATIC / "inspector.js").read_text(encoding="utf-8"))
    if path is not None:
        replace_file(path, page)
    return page


def player_page() -> str:
    """Return the page that shows what the fragment of its address holds; `website` puts it on the site as play.html."""
    player = (STATIC / "inspector.js").read_text(encoding="utf-8")
    digest = b64encode(sha256(player.encode()).digest()).decode()
    return PLAYER_PAGE.format(hash=digest, style=(STATIC / "inspector.css").read_text(encoding="utf-8"), player=player)
