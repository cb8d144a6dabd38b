"""Codes: the three words of a speaker for one minute, and challenges."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .encoding import ZEROS, label, sha256, u16, u32, u64
from .refused import need
from .strict_json import is_well_formed
from .texts import category, is_letter, known_characters, lowered
from .words import indices_of

CONNECTION = "code"
GUEST = "guest"
PUBLIC = "public"

_LONGEST_PURPOSE = 64


def hkdf(key: bytes, salt: bytes, info: bytes) -> bytes:
    """Returns 32 bytes of HKDF-SHA256."""
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=info).derive(key)


def code_key(kind: str, key: bytes, subject: bytes, epoch: int = 1, head: bytes = ZEROS) -> bytes:
    """Returns `kc` of a secret; `epoch` and `head` are those of a connection."""
    return hkdf(key, subject, label(kind) + u32(epoch) + head)


def window_of(seconds: float) -> int:
    """Returns the window of a Unix time."""
    return int(seconds // 60)


def code(kc: bytes, window: int, speaker: bytes) -> list[int]:
    """Returns the words for everyone, as indices."""
    return _first_words(kc, b"\x01" + u64(window) + speaker)


@dataclass(frozen=True)
class Challenge:
    """One listener, the index of the word that the listener drew, and the purpose as typed."""

    listener: bytes
    word: int
    purpose: str


def challenge_code(kc: bytes, window: int, speaker: bytes, asked: Challenge) -> list[int]:
    """Returns the words for one listener, as indices."""
    purpose = sha256(purpose_shown(asked.purpose).encode("utf-8"))
    said = u64(window) + speaker + asked.listener + u16(asked.word) + purpose
    return _first_words(kc, b"\x02" + said)


def same_words(a: list[int], b: list[int]) -> bool:
    """Returns whether words are equal, in a time that does not show where they differ."""
    return hmac.compare_digest(_packed(a), _packed(b))


def purpose_shown(typed: str) -> str:
    """Returns a purpose as both sides show it.

    Raises Refused `lone_surrogate`, `too_long`, or `unknown_character` (see `texts`).
    """
    need(is_well_formed(typed), "lone_surrogate")
    known_characters(typed)
    lower = lowered(typed, "NFKC").replace("ς", "σ")
    shown = "".join(
        character for character in lower if is_letter(character) or category(character) == "Nd"
    )
    need(len(shown) <= _LONGEST_PURPOSE, "too_long", "a purpose has at most 64 characters")
    return shown


def _first_words(kc: bytes, message: bytes) -> list[int]:
    return indices_of(hmac.digest(kc, message, "sha256")[:5], 3)


def _packed(words: list[int]) -> bytes:
    return b"".join(map(u16, words))
