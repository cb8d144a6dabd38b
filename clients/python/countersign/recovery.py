"""The recovery paper: 24 words for a seed of 256 bits."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .codes import hkdf
from .encoding import label, sha256
from .refused import need
from .words import indices_of, parse_words, words_of


@dataclass(frozen=True)
class Paper:
    """What a paper holds. All but `public` is secret."""

    seed: bytes
    words: list[str]
    indices: list[int]
    key_seed: bytes
    """The seed of the Ed25519 key."""
    public: bytes


def paper_of(seed: bytes) -> Paper:
    """Returns the paper with this seed of 32 bytes."""
    indices = indices_of(seed + _checksum(seed), 24)
    key_seed = hkdf(seed, b"", b"countersign/v2/recovery-key")
    key = Ed25519PrivateKey.from_private_bytes(key_seed).public_key()
    public = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    return Paper(seed, words_of(indices), indices, key_seed, public)


def read_paper(typed: str) -> Paper:
    """Reads the words of a paper; `word_count`, `unknown_word`, `recovery_checksum`."""
    number = 0
    for index in parse_words(typed, 24):
        number = number << 12 | index
    data = number.to_bytes(36, "big")
    need(hmac.compare_digest(data[32:], _checksum(data[:32])), "recovery_checksum")
    return paper_of(data[:32])


def _checksum(seed: bytes) -> bytes:
    return sha256(label("recovery") + seed)[:4]
