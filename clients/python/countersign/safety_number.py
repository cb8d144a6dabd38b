"""The safety number of two accounts: 60 digits that people compare."""

from __future__ import annotations

import hashlib

from .encoding import label, sha256

_HASHES = 5200


def safety_number(a: tuple[bytes, bytes], b: tuple[bytes, bytes]) -> tuple[bytes, list[str]]:
    """Returns the digest and the twelve groups; `a` and `b` are raw account id and root each."""
    low, high = sorted((a, b))
    digest = label("safety") + low[0] + low[1] + high[0] + high[1]
    for _ in range(_HASHES):
        digest = sha256(digest)
    long = hashlib.sha512(digest).digest()
    numbers = (int.from_bytes(long[at : at + 5], "big") % 100_000 for at in range(0, 60, 5))
    return digest, [f"{number:05d}" for number in numbers]
