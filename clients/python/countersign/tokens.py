"""API tokens: `csd_` or `csm_`, 30 characters and a checksum."""

from __future__ import annotations

import zlib

from .refused import need

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LENGTH, _CHECKED = 40, 34


def checksum(begin: str) -> str:
    """Returns the last 6 characters of a token that begins with these 34."""
    number, digits = zlib.crc32(begin.encode("ascii")), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = _ALPHABET[digit] + digits
    return digits


def check_token(text: str) -> str:
    """Returns the kind of a token, `csd` or `csm`; `length`, `prefix`, `alphabet`, `check`."""
    need(len(text) == _LENGTH, "length")
    need(text[:4] in ("csd_", "csm_"), "prefix")
    need(all(character in _ALPHABET for character in text[4:]), "alphabet")
    need(checksum(text[:_CHECKED]) == text[_CHECKED:], "check")
    return text[:3]
