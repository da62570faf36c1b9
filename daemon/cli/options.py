"""Options that several verbs share, so that one word means one thing everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="The configuration file.", show_default=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON line, the last on stdout.")]
DEFAULT_CONFIG = Path("honed.toml")
