"""The desk's dataclasses as JSON and back: one function each way, so a field is on the wire as soon as it exists.

Invariant: what another version of honed sent is read as far as it goes: unknown fields are left out, missing ones take
their default; one without a default, or a value of another type, is a `WireError`.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


class WireError(ValueError):
    """The data is not what was asked for; names the field."""


def to_data(value: Any) -> Any:
    """A dataclass (or anything of them) as JSON-able data."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_data(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_data(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def from_data(kind: type[T], data: Any) -> T:
    """The other way round; raises `WireError`."""
    return cast("T", _read(kind, data, kind.__name__))


def _read(kind: Any, data: Any, at: str) -> Any:
    origin = get_origin(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _read_fields(kind, data, at)
    if origin in (Union, types.UnionType):
        return _read_optional(kind, data, at)
    if origin is tuple:
        return tuple(_read(get_args(kind)[0], item, at) for item in _must(list, data, at))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _must(dict, data, at)
    if origin is Literal:
        return _must(str, data, at)  # a newer daemon may know more states: shown as they are
    return _must(kind, float(data) if kind is float and type(data) is int else data, at)


def _read_optional(kind: Any, data: Any, at: str) -> Any:
    [inner] = [one for one in get_args(kind) if one is not types.NoneType]
    return None if data is None else _read(inner, data, at)


def _read_fields(kind: Any, data: Any, at: str) -> Any:
    found, hints = _must(dict, data, at), _hints(kind)
    values = {}
    for one in fields(kind):
        if one.name in found:
            values[one.name] = _read(hints[one.name], found[one.name], f"{at}.{one.name}")
        elif one.default is MISSING and one.default_factory is MISSING:
            raise WireError(f"{at}.{one.name} is missing")
    return kind(**values)


def _must(kind: type[T], data: Any, at: str) -> T:
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise WireError(f"{at} is {type(data).__name__}, not {kind.__name__}")
    return data


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
