"""The form of an entry of a key log."""

from __future__ import annotations

from dataclasses import dataclass

from .chain import check_place
from .ids import ACCOUNT, DEVICE
from .jws import Jws, read_jws
from .members import (
    Form,
    PublicKeys,
    an_id,
    count,
    octets,
    one_of,
    public_key,
    public_keys,
    read_structure,
)
from .refused import need

_COMMON: dict[str, Form] = {
    "account": an_id(ACCOUNT, "not_an_account"),
    "seq": count(),
    "prev": octets(32),
    "op": one_of("add", "revoke", "reset", "renew", "recovery", reason="bad_op"),
    "by": an_id(DEVICE),
    "at": count(),
}
_OF_OPS: dict[str, Form] = {
    "device": an_id(DEVICE),
    "keys": public_keys,
    "salt": octets(32),
    "seal": octets(32),
    "key": public_key,
    "recovery_sig": octets(64),
}
_NEEDED = {
    "add": ("device", "keys"),
    "revoke": ("device",),
    "reset": ("device", "keys"),
    "renew": ("device", "seal"),
    "recovery": ("key",),
}
_OPTIONAL = ("reset", "recovery")

LAST_OPS = ("revoke", "reset")
"""The ops that the last 1,000 places take."""


@dataclass(frozen=True)
class KeyLogEntry:
    """An entry, with the members that its op has."""

    jws: Jws
    account: str
    seq: int
    prev: bytes
    op: str
    by: str
    at: int
    device: str | None
    keys: PublicKeys | None
    salt: bytes | None
    seal: bytes | None
    key: bytes | None
    recovery_sig: bytes | None


def read_key_log_entry(text: str) -> KeyLogEntry:
    """Reads an entry, and checks its form."""
    jws = read_jws(text, "keylog+jws")
    forms = {**_COMMON, **_OF_OPS}
    read = read_structure(jws.payload, forms, _COMMON)
    op, seq = read.get("op", str), read.get("seq", int)
    need(seq > 0 or op == "add", "bad_op", "a log begins with add")
    check_place(seq, op, LAST_OPS)
    needed = (*_NEEDED[op], *(("salt",) if op == "add" and seq == 0 else ()))
    for name in needed:
        need(name in jws.payload, "missing_member", name)
    for name in _OF_OPS:
        used = name in needed or (name == "recovery_sig" and op in _OPTIONAL)
        need(used or name not in jws.payload, "superfluous_member", name)
    return KeyLogEntry(
        jws,
        read.get("account", str),
        seq,
        read.get("prev", bytes),
        op,
        read.get("by", str),
        read.get("at", int),
        read.maybe("device", str),
        read.maybe("keys", PublicKeys),
        read.maybe("salt", bytes),
        read.maybe("seal", bytes),
        read.maybe("key", bytes),
        read.maybe("recovery_sig", bytes),
    )
