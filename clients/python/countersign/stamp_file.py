"""Stamp files: ordinary JSON (RFC 8259), since the file itself is not signed."""

from __future__ import annotations

import json
from typing import NoReturn

from .refused import Refused, need
from .stamp import StampFile


def read_stamp_file(data: bytes) -> StampFile:
    """Reads a stamp file. Of two members of one name the last counts; others are ignored.

    Raises Refused `bad_json`, `missing_member` or `bad_value`.
    """
    found = ordinary_json(data)
    if not isinstance(found, dict):
        raise Refused("bad_json", "a stamp file is a JSON object")
    for name in ("stamp", "key_log"):
        need(name in found, "missing_member", f"the stamp file has no {name}")
    stamp, key_log, receipt = found["stamp"], found["key_log"], found.get("receipt")
    if not isinstance(stamp, str) or not isinstance(key_log, list):
        raise Refused("bad_value", "stamp is not a text, or key_log not a list")
    entries = [entry for entry in key_log if isinstance(entry, str)]
    need(len(entries) == len(key_log), "bad_value", "an entry of key_log is not a text")
    if receipt is not None and not isinstance(receipt, str):
        raise Refused("bad_value", "receipt is neither a text nor null")
    return StampFile(stamp, entries, receipt)


def ordinary_json(data: bytes) -> object:
    """Reads JSON by RFC 8259, which has no NaN, and numbers of any length (`bad_json`)."""
    try:
        text = data.decode("utf-8", "replace")
        # Python refuses to read integers of thousands of digits; no number counts here.
        value: object = json.loads(text, parse_int=float, parse_constant=_refuse)
        return value
    except (ValueError, RecursionError):
        raise Refused("bad_json", "the file is no JSON") from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
