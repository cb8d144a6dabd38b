"""Ids: 16 bytes, on the wire a prefix and 26 characters of Crockford base32."""

from __future__ import annotations

from .refused import need

ACCOUNT = "acc_"
DEVICE = "dev_"
CONNECTION = "con_"
GUEST = "gst_"
STAMP = "stm_"
MACHINE = "mch_"

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}


def id_text(prefix: str, raw: bytes) -> str:
    """Returns the wire form of an id of 16 bytes."""
    number = int.from_bytes(raw, "big")
    return prefix + "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


def id_bytes(prefix: str, text: str) -> bytes:
    """Reads the wire form of an id.

    Raises Refused `prefix`, `length`, `upper_case`, `alphabet` or `overflow`.
    """
    need(text.startswith(prefix), "prefix", f"an id that begins {prefix} was expected")
    digits = text[len(prefix) :]
    need(len(digits) == 26, "length", "an id has 26 characters after its prefix")
    need(not any("A" <= digit <= "Z" for digit in digits), "upper_case")
    need(all(digit in _VALUES for digit in digits), "alphabet")
    need(_VALUES[digits[0]] <= 7, "overflow", "the first character is above 7")
    number = 0
    for digit in digits:
        number = number << 5 | _VALUES[digit]
    return number.to_bytes(16, "big")
