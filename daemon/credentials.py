"""Shapes of well-known credentials, as data: what each looks like, and a text that any of them holds.

Invariants: every pattern takes time linear in the text; the sign is looked for first, since most texts hold none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One kind of credential."""

    signs: tuple[str, ...]
    """A text without any of them holds no such credential."""
    pattern: re.Pattern[str]


def _shape(signs: str, pattern: str) -> Shape:
    return Shape(tuple(signs.split()), re.compile(pattern))


SHAPES: tuple[Shape, ...] = (
    _shape("sk-", r"sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic, OpenRouter
    _shape("gho_ ghp_ ghr_ ghs_ ghu_ github_pat_", r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}"),
    _shape(
        "glpat- gldt- glrt- glptt- glcbt- glimt- glagent- glft- glsoat- glffct- gloas-",
        r"gl(?:pat|dt|rt|ptt|cbt|imt|agent|ft|soat|ffct|oas)-[A-Za-z0-9_.-]{20,}",
    ),
    _shape("AKIA ASIA", r"A[KS]IA[0-9A-Z]{16}"),
    _shape("AIza", r"AIza[0-9A-Za-z_-]{35}"),
    _shape("ya29. GOCSPX-", r"ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}"),
    _shape("xox xapp-", r"xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}"),
    _shape("hooks.slack.com/ webhooks/", r"hooks\.slack\.com/[A-Za-z0-9/_-]{20,}|webhooks/\d{15,}/[A-Za-z0-9_-]{40,}"),
    _shape("sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}"),
    _shape("npm_ pypi- rubygems_", r"npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|rubygems_[a-f0-9]{40,}"),
    _shape("hf_ gsk_ xai- r8_ pplx- nvapi-", r"\b(?:hf_|gsk_|xai-|r8_|pplx-|nvapi-)[A-Za-z0-9_-]{30,}"),
    _shape("SG.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _shape("dop_v1_ doo_v1_ dapi", r"do[op]_v1_[a-f0-9]{60,}|\bdapi[a-f0-9]{32}"),
    _shape("shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _shape("lin_api_ ntn_ secret_ figd_", r"\b(?:lin_api_|ntn_|secret_|figd_)[A-Za-z0-9_-]{30,}"),
    _shape("ATATT3x ATBB", r"ATATT3x[A-Za-z0-9_=-]{40,}|\bATBB[A-Za-z0-9]{24,}"),
    _shape("hvs. hvb. dp.", r"\bhv[sb]\.[A-Za-z0-9_-]{20,}|\bdp\.(?:pt|st|ct|sa)\.[A-Za-z0-9.]{30,}"),
    _shape("AccountKey= SharedAccessKey= sig=", r"(?:(?:Account|SharedAccess)Key|\bsig)=[A-Za-z0-9%+/_-]{20,}={0,2}"),
    _shape("Q~", r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),  # Azure, a client's secret
    _shape(":AA", r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}"),  # Telegram
    _shape("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    _shape("eyJ", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+"),  # JWT
    _shape(
        "PRIVATE",
        r"-----BEGIN[ A-Z]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END[ A-Z]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
)

_SIGN = re.compile("|".join(re.escape(sign) for shape in SHAPES for sign in shape.signs))
_SHORT = 256
"""Up to that, one look for any sign is quicker than one look for each."""


def possible(text: str) -> Iterator[Shape]:
    """The shapes that a text may hold, by their signs."""
    if len(text) <= _SHORT and not _SIGN.search(text):
        return
    for shape in SHAPES:
        for sign in shape.signs:
            if sign in text:
                yield shape
                break
