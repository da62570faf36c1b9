"""Untrusted text made fit to be printed: as it is for people, as one line of JSON for machines. Always redacted."""

from __future__ import annotations

import json
import re
from typing import Any

from daemon.redaction import redact

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Untrusted text made safe for a terminal: no control or direction characters."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", redact(text))


def json_line(data: Any) -> str:
    """Data as one line, safe for a terminal too: control and direction characters are escaped, as JSON allows."""
    text = json.dumps(data, ensure_ascii=False)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
