"""First contact by four words: CPace, draft-irtf-cfrg-cpace-21, ristretto255 and SHA-512."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from .encoding import label, u64
from .members import Place
from .refused import Refused, need
from .ristretto import from_uniform, multiply, multiply_checked

INITIATOR = "initiator"
RESPONDER = "responder"

_DSI = b"CPaceRistretto255"
_BLOCK = 128
"""The bytes of a block of SHA-512."""


@dataclass(frozen=True)
class Run:
    """What one side has. `prs` and `scalar` are secret."""

    role: str
    prs: bytes
    sid: bytes
    ci: bytes
    scalar: bytes
    ad: bytes

    @property
    def share(self) -> bytes:
        """The share that this side sends."""
        return multiply(self.scalar, from_uniform(_generator_hash(self)))


@dataclass(frozen=True)
class Keys:
    """What follows from the share and the data of the other side."""

    shared: bytes
    isk: bytes
    mac_key: bytes
    tag: bytes
    """The tag that this side sends."""
    expected_tag: bytes
    """The tag that the other side has to send."""


def channel(connection: bytes, inviter: bytes) -> bytes:
    """Returns CI."""
    return label("cpace") + connection + inviter


def associated(account: bytes, newest: Place, roster_head: bytes = b"") -> bytes:
    """Returns ADa, or with a roster head ADb."""
    return account + u64(newest.seq) + newest.head + roster_head


def generator_string(prs: bytes, ci: bytes, sid: bytes) -> bytes:
    """Returns the input of the generator's hash."""
    zeros = max(0, _BLOCK - 1 - len(_prepended(prs)) - len(_prepended(_DSI)))
    return lv_cat(_DSI, prs, bytes(zeros), ci, sid)


def generator(run: Run) -> bytes:
    """Returns the encoding of the generator."""
    return multiply((1).to_bytes(32, "little"), from_uniform(_generator_hash(run)))


def derive(run: Run, share: bytes, ad: bytes) -> Keys:
    """Returns the keys of a run with what the other side sent (`cpace_abort`)."""
    shared = multiply_checked(run.scalar, share)
    if shared is None:
        raise Refused("cpace_abort")
    own, other = lv_cat(run.share, run.ad), lv_cat(share, ad)
    transcript = own + other if run.role == INITIATOR else other + own
    isk = _sha512(lv_cat(_DSI + b"_ISK", run.sid, shared) + transcript)
    mac_key = _sha512(b"CPaceMac" + run.sid + isk)
    return Keys(
        shared,
        isk,
        mac_key,
        hmac.digest(mac_key, own, "sha512"),
        hmac.digest(mac_key, other, "sha512"),
    )


def finish(run: Run, share: bytes, ad: bytes, tag: bytes, expected_ad: bytes) -> Keys:
    """Checks what the other side sent: `ad_mismatch`, `cpace_abort`, `tag_mismatch`."""
    need(ad == expected_ad, "ad_mismatch")
    keys = derive(run, share, ad)
    need(hmac.compare_digest(keys.expected_tag, tag), "tag_mismatch")
    return keys


def lv_cat(*parts: bytes) -> bytes:
    """Returns each part after its length."""
    return b"".join(_prepended(part) for part in parts)


def _prepended(part: bytes) -> bytes:
    length, number = b"", len(part)
    while number >= 128:
        length += bytes([number & 127 | 128])
        number >>= 7
    return length + bytes([number]) + part


def _generator_hash(run: Run) -> bytes:
    return _sha512(generator_string(run.prs, run.ci, run.sid))


def _sha512(data: bytes) -> bytes:
    return hashlib.sha512(data).digest()
