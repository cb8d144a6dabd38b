"""Sealing keys: X-Wing (draft-connolly-cfrg-xwing-kem-06), which is ML-KEM-768 and X25519.

Decapsulation needs a `cryptography` with ML-KEM: version 47 or later, with an OpenSSL that has it.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .encoding import sha256
from .refused import need

PUBLIC_BYTES = 1216
ENCAPSULATED_BYTES = 1120

_ML_KEM_PUBLIC = 1184
_ML_KEM_CIPHERTEXT = 1088
_COEFFICIENTS = 1152
_Q = 3329
_LABEL = rb"\.//^" + b"\\"


class NoMlKem(Exception):
    """This `cryptography` has no ML-KEM, so nothing that was sealed can be opened."""


def seal_key_id(public: bytes) -> bytes:
    """Returns the id of a sealing key."""
    return sha256(public)


def check_seal_key(public: bytes, id: bytes) -> None:
    """Checks the bytes beside a log: `hash_mismatch`, `not_sealable`."""
    need(hmac.compare_digest(seal_key_id(public), id), "hash_mismatch")
    need(len(public) == PUBLIC_BYTES, "not_sealable", f"a key has {PUBLIC_BYTES} bytes")
    for at in range(0, _COEFFICIENTS, 3):
        three = int.from_bytes(public[at : at + 3], "little")
        need(three & 4095 < _Q and three >> 12 < _Q, "not_sealable", "a coefficient above q")
    try:
        X25519PrivateKey.from_private_bytes(bytes(32)).exchange(
            X25519PublicKey.from_public_bytes(public[_ML_KEM_PUBLIC:])
        )
    except ValueError:
        need(False, "not_sealable", "an X25519 key of low order")


@dataclass(frozen=True)
class SealKey:
    """A decapsulation key of 32 bytes, expanded."""

    ml_kem: Any
    x25519: X25519PrivateKey
    public: bytes


def expand(decapsulation_key: bytes) -> SealKey:
    """Returns the key pair of a decapsulation key; raises NoMlKem."""
    expanded = hashlib.shake_256(decapsulation_key).digest(96)
    ml_kem = _ml_kem_of(expanded[:64])
    x25519 = X25519PrivateKey.from_private_bytes(expanded[64:])
    public: bytes = ml_kem.public_key().public_bytes_raw()
    return SealKey(ml_kem, x25519, public + _raw(x25519.public_key()))


def decapsulate(key: SealKey, enc: bytes) -> bytes:
    """Returns the shared secret; raises ValueError for an X25519 share of low order."""
    ml_kem_part, x25519_part = enc[:_ML_KEM_CIPHERTEXT], enc[_ML_KEM_CIPHERTEXT:]
    first: bytes = key.ml_kem.decapsulate(ml_kem_part)
    second = key.x25519.exchange(X25519PublicKey.from_public_bytes(x25519_part))
    own = key.public[_ML_KEM_PUBLIC:]
    return hashlib.sha3_256(first + second + x25519_part + own + _LABEL).digest()


def _ml_kem_of(seed: bytes) -> Any:
    try:
        module = importlib.import_module("cryptography.hazmat.primitives.asymmetric.mlkem")
        return module.MLKEM768PrivateKey.from_seed_bytes(seed)
    except (ImportError, UnsupportedAlgorithm):
        raise NoMlKem("this cryptography has no ML-KEM; version 47 or later has it") from None


def _raw(key: X25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
