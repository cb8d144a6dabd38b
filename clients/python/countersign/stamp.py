"""Stamps: a device's signature over the digest of content, and the receipt of a server."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from .encoding import base64url
from .ids import ACCOUNT, DEVICE, STAMP
from .jws import Jws, check_signature, read_jws, thumbprint
from .key_log import KeyLog, verify_key_log
from .members import (
    Form,
    Place,
    an_id,
    count,
    count_or_null,
    exactly,
    octets,
    one_of,
    place,
    read_structure,
    text_or_null,
)
from .refused import need
from .strict_json import LARGEST, Json
from .words import indices_of, words_of

_ASSURANCE = one_of("device", "verified_email", "organisation")


@dataclass(frozen=True)
class Clock:
    """How the signing device knew the time; the offset is the server's clock minus its own."""

    source: str
    offset_ms: int


def _clock(value: Json) -> Clock:
    found = exactly(value, ("source", "offset_ms"))
    source = one_of("server", "local")(found["source"])
    return Clock(source, count(least=-LARGEST)(found["offset_ms"]))


_STAMP: dict[str, Form] = {
    "jti": an_id(STAMP),
    "iss": an_id(ACCOUNT),
    "dev": an_id(DEVICE),
    "sha256": octets(32),
    "len": count_or_null,
    "media_type": text_or_null,
    "iat": count(),
    "clock": _clock,
    "key_log": place,
    "ctx": text_or_null,
    "assurance": _ASSURANCE,
}
_RECEIPT: dict[str, Form] = {
    "jti": an_id(STAMP),
    "stamp_sha256": octets(32),
    "received_at": count(),
    "key_status": one_of("active", "revoked"),
    "assurance": _ASSURANCE,
}


@dataclass(frozen=True)
class Stamp:
    """A stamp of which the form is checked, and the signature is not."""

    jws: Jws
    id: str
    account: str
    device: str
    sha256: bytes
    length: int | None
    media_type: str | None
    signed_at: int
    """As the signer claims, in Unix seconds."""
    clock: Clock
    key_log: Place
    context: str | None
    assurance: str

    @property
    def words(self) -> list[str]:
        """Three words to find the stamp; they prove nothing."""
        return words_of(indices_of(self.jws.hash, 3))

    @property
    def fragment(self) -> str:
        """The part after `#` of the stamp's address."""
        return base64url(self.jws.hash)


@dataclass(frozen=True)
class Receipt:
    """What an account server knew when it received a stamp."""

    received_at: int
    key_status: str
    assurance: str


@dataclass(frozen=True)
class StampFile:
    """The parts of a stamp file."""

    stamp: str
    key_log: Sequence[str]
    receipt: str | None = None


@dataclass(frozen=True)
class Content:
    """The digest and the length of what was stamped; None if only the digest is known."""

    sha256: bytes
    length: int | None = None


@dataclass(frozen=True)
class StampFacts:
    """What a verified stamp shows. Only `root` names the signer; see `known_by`."""

    stamp: Stamp
    log: KeyLog
    generation: int
    root: bytes
    """The hash of the first entry of the generation that signed."""
    receipt: Receipt | None
    """None if there is none, or no key to verify it."""

    @property
    def assurance(self) -> str:
        """The level that the verified receipt states, else `device`."""
        return "device" if self.receipt is None else self.receipt.assurance

    def known_by(self, root: bytes) -> None:
        """Requires that this root, which the signer gave, is that of the stamp (`other_root`)."""
        need(self.root == root, "other_root")


def content_of(file: BinaryIO) -> Content:
    """Returns the digest and the length of a file, without holding it in memory."""
    digest, length = hashlib.sha256(), 0
    while block := file.read(1 << 20):
        digest.update(block)
        length += len(block)
    return Content(digest.digest(), length)


def read_stamp(text: str) -> Stamp:
    """Reads a stamp, and checks its form."""
    jws = read_jws(text, "stamp+jws")
    read = read_structure(jws.payload, _STAMP)
    clock = read.get("clock", Clock)
    need(clock.source == "server" or clock.offset_ms == 0, "bad_value", "a local clock has 0")
    return Stamp(
        jws,
        read.get("jti", str),
        read.get("iss", str),
        read.get("dev", str),
        read.get("sha256", bytes),
        read.maybe("len", int),
        read.maybe("media_type", str),
        read.get("iat", int),
        clock,
        read.get("key_log", Place),
        read.maybe("ctx", str),
        read.get("assurance", str),
    )


def verify_stamp(
    file: StampFile, content: Content | None = None, receipt_key: bytes | None = None
) -> StampFacts:
    """Verifies a stamp file.

    Without `content`, only the stamp itself is checked; without `receipt_key`, the Ed25519 key
    of the account server, a receipt is ignored. Raises Refused with the first fault.
    """
    stamp = read_stamp(file.stamp)
    log = verify_key_log(stamp.account, file.key_log)
    need(log.has(stamp.key_log), "key_log_mismatch", "the stamp names another key log")
    device = log.active_at(stamp.key_log.seq, stamp.device)
    check_signature(stamp.jws, device.keys.sign)
    if content is not None:
        need(content.sha256 == stamp.sha256, "digest_mismatch", "this content was not stamped")
        lengths = (content.length, stamp.length)
        need(None in lengths or content.length == stamp.length, "len_mismatch")
    receipt = None
    if file.receipt is not None and receipt_key is not None:
        receipt = _verify_receipt(file.receipt, stamp, receipt_key)
    need(stamp.assurance == "device", "assurance_claimed", "only a receipt can show more")
    revoked = device.revoked is not None if receipt is None else receipt.key_status == "revoked"
    need(not revoked, "revoked_key", "no receipt shows that the stamp is older")
    root = log.root_of(device.generation)
    return StampFacts(stamp, log, device.generation, root, receipt)


def _verify_receipt(text: str, stamp: Stamp, key: bytes) -> Receipt:
    jws = read_jws(text, "receipt+jws")
    read = read_structure(jws.payload, _RECEIPT)
    need(jws.kid == thumbprint(key), "unknown_signer", "another key signed the receipt")
    check_signature(jws, key)
    named = (read.get("jti", str), read.get("stamp_sha256", bytes))
    need(named == (stamp.id, stamp.jws.hash), "receipt_mismatch")
    return Receipt(
        read.get("received_at", int), read.get("key_status", str), read.get("assurance", str)
    )
