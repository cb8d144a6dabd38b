"""Unicode: normalisation, lower case and classes of characters.

The protocol has the tables of Unicode 17.0, and Python those of `unicodedata.unidata_version`.
Where a character is not defined in these, the result in 17.0 cannot be computed.
"""

from __future__ import annotations

import unicodedata

from .refused import need


def category(character: str) -> str:
    """Returns the general category, for example `Lu`."""
    return unicodedata.category(character)


def is_letter(character: str) -> bool:
    """Returns whether the character is in `\\p{L}`."""
    return category(character).startswith("L")


def lowered(text: str, form: str) -> str:
    """Returns the text in a normal form, in lower case without locale."""
    return unicodedata.normalize(form, text).lower()


def known_characters(text: str) -> None:
    """Requires that this Python's tables define each character; see `unknown_character`."""
    for character in text:
        if category(character) == "Cn" and not _is_noncharacter(ord(character)):
            need(
                False,
                "unknown_character",
                f"U+{ord(character):04X} is not in Unicode {unicodedata.unidata_version}, "
                "which this Python has: the result in Unicode 17.0 is not known",
            )


def _is_noncharacter(code: int) -> bool:
    return 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
