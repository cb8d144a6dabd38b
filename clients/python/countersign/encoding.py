"""Bytes: labels, integers, hashes and base64url."""

from __future__ import annotations

import base64
import hashlib
import re

from .refused import need

ZEROS = bytes(32)

_ALPHABET = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)


def label(name: str) -> bytes:
    """Returns a label with the byte 0x00 that ends it; the input follows."""
    return f"countersign/v2/{name}".encode("ascii") + b"\0"


def u16(value: int) -> bytes:
    """Returns a big-endian integer of 2 bytes."""
    return value.to_bytes(2, "big")


def u32(value: int) -> bytes:
    """Returns a big-endian integer of 4 bytes."""
    return value.to_bytes(4, "big")


def u64(value: int) -> bytes:
    """Returns a big-endian integer of 8 bytes."""
    return value.to_bytes(8, "big")


def sha256(data: bytes) -> bytes:
    """Returns the SHA-256 of the bytes."""
    return hashlib.sha256(data).digest()


def base64url(data: bytes) -> str:
    """Returns base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_base64url(text: str) -> bytes:
    """Reads base64url without padding; any text but the one form of bytes is `respelt_base64`.

    Python skips characters that are not of the alphabet, and ignores unused bits at the end.
    """
    need(_ALPHABET.fullmatch(text) is not None and len(text) % 4 != 1, "respelt_base64")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    need(base64url(data) == text, "respelt_base64")
    return data
