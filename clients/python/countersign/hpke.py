"""HPKE Base of suite 1: KEM 0x647a, HKDF-SHA256, AES-256-GCM (RFC 9180)."""

from __future__ import annotations

import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from .encoding import u16
from .refused import Refused
from .seal_key import SealKey, decapsulate

_SUITE = b"HPKE" + u16(0x647A) + u16(1) + u16(2)
_MODE_BASE = b"\0"


def open_sealed(key: SealKey, enc: bytes, info: bytes, ciphertext: bytes) -> bytes:
    """Returns the plaintext of one message with an empty aad (`open_failed`)."""
    try:
        secret = _extract(decapsulate(key, enc), b"secret", b"")
        context = (
            _MODE_BASE + _extract(b"", b"psk_id_hash", b"") + _extract(b"", b"info_hash", info)
        )
        aead = AESGCM(_expand(secret, b"key", context, 32))
        return aead.decrypt(_expand(secret, b"base_nonce", context, 12), ciphertext, None)
    except (InvalidTag, ValueError):
        raise Refused("open_failed") from None


def _extract(salt: bytes, name: bytes, key: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + _SUITE + name + key, "sha256")


def _expand(secret: bytes, name: bytes, info: bytes, length: int) -> bytes:
    labelled = u16(length) + b"HPKE-v1" + _SUITE + name + info
    return HKDFExpand(algorithm=SHA256(), length=length, info=labelled).derive(secret)
