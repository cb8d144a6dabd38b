"""The form of an entry of a roster."""

from __future__ import annotations

from dataclasses import dataclass

from .chain import check_place
from .ids import ACCOUNT, CONNECTION, DEVICE, id_bytes
from .jws import Jws, read_jws
from .members import (
    Form,
    Place,
    an_id,
    count,
    exactly,
    octets,
    one_of,
    place,
    read_structure,
    text,
)
from .refused import Refused, need
from .strict_json import Json

OPENS_EPOCH = ("open", "remove", "rotate", "confirm")

LAST_OPS = ("remove", "leave", "confirm", "end")
"""The ops that the last 1,000 places take."""

_MOST_ROWS = 199


@dataclass(frozen=True)
class Row:
    """A row of `logs`: a place of the key log of a member."""

    account: str
    place: Place


@dataclass(frozen=True)
class Rows:
    """The rows of `logs`, sorted by the raw ids."""

    all: tuple[Row, ...] = ()


def _row(value: Json) -> Row:
    found = exactly(value, ("account", "seq", "head"))
    account = an_id(ACCOUNT, "not_an_account")(found["account"])
    return Row(account, Place(count()(found["seq"]), octets(32)(found["head"])))


def _rows(value: Json) -> Rows:
    if not isinstance(value, list) or not value:
        raise Refused("bad_value", "a list of rows was expected")
    need(len(value) <= _MOST_ROWS, "too_many_rows")
    rows = tuple(map(_row, value))
    raw = [id_bytes(ACCOUNT, row.account) for row in rows]
    need(all(a < b for a, b in zip(raw, raw[1:])), "logs_unsorted")
    return Rows(rows)


_OPS = ("open", "add", "remove", "role", "leave", "rotate", "confirm", "end")
_COMMON: dict[str, Form] = {
    "connection": an_id(CONNECTION),
    "seq": count(),
    "epoch": count(2**32 - 1),
    "prev": octets(32),
    "op": one_of(*_OPS, reason="bad_op"),
    "actor": an_id(ACCOUNT, "not_an_account"),
    "device": an_id(DEVICE),
    "actor_log": place,
    "at": count(),
}
_OF_OPS: dict[str, Form] = {
    "replaces": an_id(CONNECTION),
    "member": an_id(ACCOUNT, "not_an_account"),
    "member_log": place,
    "role": one_of("owner", "member"),
    "consent": text,
    "logs": _rows,
    "k_commit": octets(32),
}
_NEEDED: dict[str, tuple[str, ...]] = {
    "open": (),
    "add": ("member", "member_log", "role", "consent"),
    "remove": ("member",),
    "role": ("member", "role"),
    "leave": (),
    "rotate": (),
    "confirm": ("member", "member_log"),
    "end": (),
}
_OPTIONAL: dict[str, tuple[str, ...]] = {
    "open": ("replaces",),
    "remove": ("logs",),
    "rotate": ("logs",),
    "confirm": ("logs",),
}


@dataclass(frozen=True)
class RosterEntry:
    """An entry, with the members that its op has."""

    jws: Jws
    connection: str
    seq: int
    epoch: int
    prev: bytes
    op: str
    actor: str
    device: str
    actor_log: Place
    replaces: str | None
    member: str | None
    member_log: Place | None
    role: str | None
    consent: str | None
    rows: tuple[Row, ...]
    k_commit: bytes | None


def read_roster_entry(jws_text: str) -> RosterEntry:
    """Reads an entry, and checks its form."""
    jws = read_jws(jws_text, "roster+jws")
    forms = {**_COMMON, **_OF_OPS}
    read = read_structure(jws.payload, forms, _COMMON)
    op = read.get("op", str)
    has_k_commit = "k_commit" in jws.payload
    if op in OPENS_EPOCH:
        need(has_k_commit, "missing_k_commit")
    else:
        need(not has_k_commit, "superfluous_k_commit")
    for name in _NEEDED[op]:
        need(name in jws.payload, "missing_member", name)
    used = (*_NEEDED[op], *_OPTIONAL.get(op, ()), "k_commit")
    for name in _OF_OPS:
        need(name in used or name not in jws.payload, "superfluous_member", name)
    connection, replaces = read.get("connection", str), read.maybe("replaces", str)
    need(replaces != connection, "bad_value", "a connection does not replace itself")
    check_place(read.get("seq", int), op, LAST_OPS)
    rows = read.maybe("logs", Rows) or Rows()
    return RosterEntry(
        jws,
        connection,
        read.get("seq", int),
        read.get("epoch", int),
        read.get("prev", bytes),
        op,
        read.get("actor", str),
        read.get("device", str),
        read.get("actor_log", Place),
        replaces,
        read.maybe("member", str),
        read.maybe("member_log", Place),
        read.maybe("role", str),
        read.maybe("consent", str),
        rows.all,
        read.maybe("k_commit", bytes),
    )
