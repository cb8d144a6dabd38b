"""Envelopes: K of an epoch, sealed to one device."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from .encoding import label, sha256, u32
from .hpke import open_sealed
from .ids import CONNECTION, DEVICE, id_bytes
from .members import Form, an_id, count, octets, read_structure, version
from .refused import Refused, need
from .seal_key import ENCAPSULATED_BYTES, expand
from .strict_json import LARGEST, parse_json

_SUITE = 1
_FORMS: dict[str, Form] = {
    "suite": count(least=-LARGEST),
    "connection": an_id(CONNECTION),
    "epoch": count(2**32 - 1),
    "epoch_head": octets(32),
    "recipient": an_id(DEVICE),
    "recipient_kid": octets(32),
    "enc": octets(ENCAPSULATED_BYTES),
    "ct": octets(48),
}


@dataclass(frozen=True)
class Epoch:
    """The newest epoch of a verified roster."""

    connection: str
    epoch: int
    head: bytes
    k_commit: bytes


@dataclass(frozen=True)
class Envelope:
    """An envelope of which the form is checked."""

    connection: str
    epoch: int
    epoch_head: bytes
    recipient: str
    recipient_kid: bytes
    enc: bytes
    ct: bytes

    @property
    def info(self) -> bytes:
        """The `info` of HPKE."""
        connection = id_bytes(CONNECTION, self.connection)
        recipient = id_bytes(DEVICE, self.recipient)
        place = connection + u32(self.epoch) + self.epoch_head
        return label("envelope") + bytes([_SUITE]) + place + recipient + self.recipient_kid


def k_commit_of(connection: str, epoch: int, secret: bytes) -> bytes:
    """Returns the `k_commit` of K."""
    return sha256(label("k") + id_bytes(CONNECTION, connection) + u32(epoch) + secret)


def read_envelope(text: str) -> Envelope:
    """Reads an envelope, and checks its form."""
    found = parse_json(text.encode("utf-8", "surrogatepass"))
    version(found)
    read = read_structure(found, _FORMS)
    need(read.get("suite", int) == _SUITE, "unknown_suite")
    return Envelope(
        read.get("connection", str),
        read.get("epoch", int),
        read.get("epoch_head", bytes),
        read.get("recipient", str),
        read.get("recipient_kid", bytes),
        read.get("enc", bytes),
        read.get("ct", bytes),
    )


def check_envelope(envelope: Envelope, newest: Epoch, recipient: str) -> None:
    """Checks that an envelope is for this epoch and device."""
    need(envelope.connection == newest.connection, "wrong_connection")
    need(envelope.epoch >= newest.epoch, "old_epoch")
    need(envelope.epoch <= newest.epoch, "unknown_epoch")
    need(envelope.epoch_head == newest.head, "wrong_epoch_head")
    need(envelope.recipient == recipient, "wrong_recipient")


def open_envelope(text: str, newest: Epoch, recipient: str, held: Mapping[bytes, bytes]) -> bytes:
    """Returns K. `held` are decapsulation keys by the ids of their sealing keys.

    Raises NoMlKem where `cryptography` cannot open it; all checks before that are made.
    """
    envelope = read_envelope(text)
    check_envelope(envelope, newest, recipient)
    key = held.get(envelope.recipient_kid)
    if key is None:
        raise Refused("wrong_recipient_kid")
    secret = open_sealed(expand(key), envelope.enc, envelope.info, envelope.ct)
    committed = k_commit_of(newest.connection, newest.epoch, secret)
    need(hmac.compare_digest(committed, newest.k_commit), "k_commit_mismatch")
    return secret
