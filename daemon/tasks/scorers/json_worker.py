"""JSON against a schema and path checks, in the bounded process: schemas hold patterns, and documents may be huge.

What is said about a fault names the place and the rule, never the value that was expected.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from jsonschema.validators import validator_for
from referencing import Registry

from daemon.tasks.scorers.jsonpath import find, parse_path

MAX_FAULTS = 5
"""Schema faults that are told."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def check_json(request: Mapping[str, Any], say: Callable[..., None]) -> Mapping[str, Any]:
    """`unread` (why the text is no JSON), or `faults` of the `schema` and the outcome of each check (""  = holds)."""
    try:
        document = json.loads(
            request["text"], parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique
        )
    except RecursionError:
        return {"unread": "nests too deep"}
    except ValueError:
        return {"unread": "is no JSON"}
    faults = _faults(request["schema"], document) if request["schema"] is not None else []
    return {"faults": faults, "checks": [_outcome(check, document) for check in request["checks"]]}


def _load(text: str) -> Any:
    return json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits)
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        msg = "a key is there twice"
        raise ValueError(msg)
    return plain


def _faults(schema: Any, document: Any) -> list[str]:
    # An empty registry: a schema that refers elsewhere is never fetched.
    validator = validator_for(schema)(schema, registry=Registry())
    told = []
    for error in validator.iter_errors(document):
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
        told.append(f"${place[:100]} breaks the rule {error.validator!r}")
        if len(told) == MAX_FAULTS:
            break
    return told


def _outcome(check: Mapping[str, Any], document: Any) -> str:
    """Empty if the check holds, else in what way it does not."""
    values = find(parse_path(check["path"]), document)
    if "count" in check and len(values) != check["count"]:
        return f"there are {len(values)}, which is not the right number"
    if check["exists"] is False:
        return "is there though it must not be" if values else ""
    if not values:
        return "" if check.get("count") == 0 else "is missing"
    return next((why for value in values if (why := _wrong(check, value))), "")


def _wrong(check: Mapping[str, Any], value: Any) -> str:
    if "type" in check and not _is(check["type"], value):
        return f"is {_name(value)} where another type is wanted"
    if "equals" in check and not same(check["equals"], value, check["tolerance"]):
        return "has a wrong value"
    if "length" in check and (not isinstance(value, str | list | dict) or len(value) != check["length"]):
        return "has a wrong length"
    if "matches" in check and (not isinstance(value, str) or not re.search(check["matches"], value)):
        return "does not fit its pattern"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if ("min" in check and not (number and value >= check["min"])) or (
        "max" in check and not (number and value <= check["max"])
    ):
        return "lies outside its bounds" if number else "is no number"
    return ""


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _name(value: Any) -> str:
    return next(
        kind for kind in ("boolean", "null", "string", "integer", "number", "array", "object") if _is(kind, value)
    )


def same(gold: Any, given: Any, tolerance: float) -> bool:
    """Equal as JSON: `true` is not 1, 1 is 1.0, keys in any order; numbers within a relative tolerance."""
    if isinstance(gold, bool) or isinstance(given, bool):
        return gold is given
    if isinstance(gold, int | float) and isinstance(given, int | float):
        return gold == given or _close(gold, given, tolerance)
    if isinstance(gold, dict) and isinstance(given, dict):
        return gold.keys() == given.keys() and all(same(value, given[key], tolerance) for key, value in gold.items())
    if isinstance(gold, list) and isinstance(given, list):
        pairs = zip(gold, given, strict=False)
        return len(gold) == len(given) and all(same(left, right, tolerance) for left, right in pairs)
    return type(gold) is type(given) and bool(gold == given)


def _close(gold: float, given: float, tolerance: float) -> bool:
    try:
        return math.isclose(gold, given, rel_tol=tolerance, abs_tol=0.0)
    except OverflowError:  # whole numbers beyond what a float holds
        return False
