"""The rules that key logs and rosters share: places, hashes, forks (section 11, `accept`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from .encoding import ZEROS, sha256
from .jws import Jws
from .members import Place
from .refused import Refused, need

LONGEST_ENTRY = 65_536
PLACES = 100_000
LAST_PLACES = 99_000
"""From this place on, a log takes only the ops that end something."""


class Entry(Protocol):
    """What both kinds of entries have."""

    @property
    def jws(self) -> Jws:
        ...

    @property
    def seq(self) -> int:
        ...

    @property
    def prev(self) -> bytes:
        ...


E = TypeVar("E", bound=Entry)
S = TypeVar("S")


def entry_hash(text: str) -> bytes:
    """Returns the hash of an entry."""
    return sha256(text.encode("ascii"))


def check_place(seq: int, op: str, last_ops: Collection[str]) -> None:
    """Requires that a log takes this op at this place (`log_full`)."""
    need(seq < PLACES, "log_full")
    need(seq < LAST_PLACES or op in last_ops, "log_full")


def accept(
    entries: Sequence[str],
    known: Place | None,
    read: Callable[[str], E],
    apply: Callable[[S, E], S],
    first: S,
    forked: str,
) -> list[S]:
    """Verifies a list of entries, and returns the state after each.

    `known` is the highest place accepted before. `forked` is the reason for two valid entries at
    one place.
    """
    need(len(entries) > 0, "empty")
    need(len(entries) <= PLACES, "log_full", "the list has too many entries")
    states: list[S] = []
    hashes: list[bytes] = []
    for index, text in enumerate(entries):
        need(len(text) <= LONGEST_ENTRY, "too_large")
        entry = read(text)
        seq = entry.seq
        need(seq <= index, "gap")
        need(seq == index or entries[seq] != text, "duplicate_entry")
        need(entry.prev == (hashes[seq - 1] if seq > 0 else ZEROS), "prev_mismatch")
        state = apply(states[seq - 1] if seq > 0 else first, entry)
        if seq < index:
            raise Refused(forked, "two valid entries at one place")
        if known is not None and known.seq == seq:
            need(entry.jws.hash == known.head, forked, "another entry was accepted before")
        states.append(state)
        hashes.append(entry.jws.hash)
    need(known is None or known.seq < len(entries), "rollback", "the list is shorter than before")
    return states
