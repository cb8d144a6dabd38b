"""Marks of names: which look like the name of another contact, or mix scripts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from .scripts import script_of
from .texts import category

_WHITE_SPACE = "\t\n\v\f\r\x85\u180e\u2800"
"""Besides `\\p{Z}`; the last is the blank of Braille, which looks empty."""

_IGNORABLE = (
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""Default_Ignorable_Code_Point of Unicode 17.0, which `unicodedata` does not have."""


def comparable(name: str) -> str:
    """Returns a name in the form in which names are compared."""
    kept = "".join(one for one in unicodedata.normalize("NFKD", name) if not _is_dropped(one))
    return kept.lower().replace("ς", "σ")


def marks(name: str, others: Iterable[str]) -> list[str]:
    """Returns `equal` and `mixed_script`, where they apply; `others` are names of contacts."""
    form = comparable(name)
    found = ["equal"] if form in map(comparable, others) else []
    scripts = {script for one in form if (script := script_of(one)) is not None}
    return [*found, "mixed_script"] if len(scripts) > 1 else found


def _is_dropped(character: str) -> bool:
    kind, code = category(character), ord(character)
    return (
        kind[0] in "MZ"
        or kind == "Cf"
        or character in _WHITE_SPACE
        or any(first <= code <= last for first, last in _IGNORABLE)
    )
