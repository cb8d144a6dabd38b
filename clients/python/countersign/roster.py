"""The roster of a connection: its members, and the epochs of its secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .chain import accept
from .consent import check_consent
from .jws import check_signature
from .key_log import KeyLog
from .members import Place
from .refused import Refused, need
from .roster_entry import OPENS_EPOCH, RosterEntry, read_roster_entry

_MOST_MEMBERS = 200
_FOR_OWNERS = ("add", "remove", "role", "confirm", "end")

KeyLogs = Mapping[str, KeyLog]
"""Account → its newest key log known here."""


@dataclass(frozen=True)
class Seat:
    """The seat of a member."""

    account: str
    role: str
    generation: int
    covered: int
    """The place of the member's key log that the epoch covers."""


@dataclass(frozen=True)
class Roster:
    """A roster after one of its entries."""

    heads: tuple[bytes, ...] = ()
    epoch: int = 0
    epoch_head: bytes = b""
    k_commits: Mapping[int, bytes] | None = None
    """Epoch → `k_commit`."""
    members: Mapping[str, Seat] | None = None
    """In order of joining."""
    leavers: tuple[Seat, ...] = ()
    """Who left since the epoch began."""
    places: Mapping[str, int] | None = None
    """Account → the last place of its key log that an entry names."""
    exits: Mapping[str, int] | None = None
    """Account → the place of its last `remove` or `leave`."""
    pending: bool = False
    """Whether a rotation is pending."""
    ended: bool = False

    @property
    def seats(self) -> list[Seat]:
        """The seats, in order of joining."""
        return list((self.members or {}).values())

    def seat(self, account: str | None) -> Seat:
        """Returns the seat of a member (`not_member`)."""
        found = (self.members or {}).get(account or "")
        if found is None:
            raise Refused("not_member", account or "")
        return found


def verify_roster(
    connection: str, entries: Sequence[str], logs: KeyLogs, known: Place | None = None
) -> Roster:
    """Verifies a roster; `known` is the highest place that was accepted of it before."""

    def read(text: str) -> RosterEntry:
        entry = read_roster_entry(text)
        need(entry.connection == connection, "wrong_connection")
        return entry

    def apply(roster: Roster, entry: RosterEntry) -> Roster:
        return _apply(roster, entry, logs)

    return accept(entries, known, read, apply, Roster(), "roster_forked")[-1]


def held_by(roster: Roster, logs: KeyLogs) -> list[str]:
    """Returns the accounts with a `revoke` or `reset` after the place that the epoch covers."""
    return [
        seat.account
        for seat in (*roster.seats, *roster.leavers)
        if logs[seat.account].last_exit > seat.covered
    ]


def unconfirmed(roster: Roster, logs: KeyLogs) -> list[str]:
    """Returns the members of which the newest generation is not linked to that of the seat."""
    return [
        seat.account
        for seat in roster.seats
        if not logs[seat.account].is_linked(seat.generation, len(logs[seat.account].generations))
    ]


def _apply(roster: Roster, entry: RosterEntry, logs: KeyLogs) -> Roster:
    _check_order(roster, entry)
    log = logs.get(entry.actor)
    if log is None or not log.has(entry.actor_log):
        raise Refused("actor_log_mismatch", entry.actor)
    signer = log.active_at(entry.actor_log.seq, entry.device)
    check_signature(entry.jws, signer.keys.sign)
    generation = log.generation_at(entry.actor_log.seq)
    signed = (
        Roster(members={entry.actor: Seat(entry.actor, "owner", generation, 0)})
        if entry.op == "open"
        else _signed(roster, entry, log, generation)
    )
    need(entry.op not in _FOR_OWNERS or signed.seat(entry.actor).role == "owner", "not_owner")
    places = {**(roster.places or {}), entry.actor: entry.actor_log.seq}
    for row in entry.rows:
        is_other = row.account != entry.actor and row.account in (signed.members or {})
        need(is_other, "logs_not_member", row.account)
    after = _effect(replace(signed, places=places), entry, logs)
    heads = (*roster.heads[: entry.seq], entry.jws.hash)
    return _epoch(replace(after, heads=heads, epoch=entry.epoch), entry, logs)


def _check_order(roster: Roster, entry: RosterEntry) -> None:
    """Checks what the entry is after the one before, without any key."""
    need((entry.op == "open") == (entry.seq == 0), "bad_op", "a roster begins with one open")
    need(not roster.ended, "ended")
    expected = roster.epoch + (entry.op in OPENS_EPOCH)
    need(entry.op != "leave" or entry.epoch <= expected, "leave_opens_epoch")
    need(entry.epoch == expected, "epoch_skip")


def _signed(roster: Roster, entry: RosterEntry, log: KeyLog, generation: int) -> Roster:
    """Returns the roster in which the seat has the generation of the device that signed."""
    seat = roster.seat(entry.actor)
    need(entry.actor_log.seq >= (roster.places or {})[entry.actor], "actor_log_back")
    need(log.is_linked(seat.generation, generation), "generation_unconfirmed")
    return _sit(roster, replace(seat, generation=generation))


def _sit(roster: Roster, seat: Seat) -> Roster:
    return replace(roster, members={**(roster.members or {}), seat.account: seat})


def _without(roster: Roster, account: str, seq: int) -> Roster:
    members = {name: seat for name, seat in (roster.members or {}).items() if name != account}
    _need_owner(members)
    return replace(roster, members=members, exits={**(roster.exits or {}), account: seq})


def _need_owner(members: Mapping[str, Seat]) -> None:
    need(any(seat.role == "owner" for seat in members.values()), "last_owner")


def _effect(roster: Roster, entry: RosterEntry, logs: KeyLogs) -> Roster:
    """Returns the roster with the effect of the op on its members."""
    if entry.op == "add":
        return _add(roster, entry, logs)
    if entry.op == "remove":
        return _without(roster, roster.seat(entry.member).account, entry.seq)
    if entry.op == "role":
        assert entry.role is not None
        changed = _sit(roster, replace(roster.seat(entry.member), role=entry.role))
        _need_owner(changed.members or {})
        return changed
    if entry.op == "leave":
        seat = roster.seat(entry.actor)
        left = _without(roster, entry.actor, entry.seq)
        return replace(left, leavers=(*left.leavers, seat), pending=True)
    if entry.op == "confirm":
        return _confirm(roster, entry, logs)
    return replace(roster, ended=entry.op == "end")


def _member_log(entry: RosterEntry, logs: KeyLogs) -> tuple[KeyLog, Place]:
    assert entry.member is not None and entry.member_log is not None
    log = logs.get(entry.member)
    if log is None or not log.has(entry.member_log):
        raise Refused("member_log_mismatch", entry.member)
    return log, entry.member_log


def _add(roster: Roster, entry: RosterEntry, logs: KeyLogs) -> Roster:
    account = entry.member
    assert account is not None and entry.role is not None and entry.consent is not None
    members = roster.members or {}
    need(not roster.pending, "rotation_pending")
    need(account not in members, "already_member")
    need(len(members) < _MOST_MEMBERS, "too_many_members")
    log, at = _member_log(entry, logs)
    since = (roster.exits or {}).get(account, 0)
    asked = (entry.connection, entry.actor, account)
    check_consent(entry.consent, asked, log, at, roster.heads[since:])
    seated = _sit(roster, Seat(account, entry.role, log.generation_at(at.seq), at.seq))
    return _reach(seated, account, at.seq)


def _confirm(roster: Roster, entry: RosterEntry, logs: KeyLogs) -> Roster:
    seat = roster.seat(entry.member)
    need(entry.member != entry.actor, "self_confirm")
    log, at = _member_log(entry, logs)
    generation = log.generation_at(at.seq)
    need(generation > seat.generation, "no_new_generation")
    return _reach(_sit(roster, replace(seat, generation=generation)), seat.account, at.seq)


def _reach(roster: Roster, account: str, seq: int) -> Roster:
    places = dict(roster.places or {})
    places[account] = max(seq, places.get(account, 0))
    return replace(roster, places=places)


def _epoch(roster: Roster, entry: RosterEntry, logs: KeyLogs) -> Roster:
    """Returns the roster with what an entry that opens an epoch covers and ends."""
    if entry.op not in OPENS_EPOCH:
        return roster
    assert entry.k_commit is not None
    rows = {row.account: row.place for row in entry.rows}
    places = roster.places or {}

    def covered(account: str) -> int:
        row = rows.get(account)
        fits = row is not None and logs[account].has(row) and row.seq >= places[account]
        return row.seq if row is not None and fits else places[account]

    members = {
        account: replace(seat, covered=covered(account))
        for account, seat in (roster.members or {}).items()
    }
    return replace(
        roster,
        members=members,
        leavers=(),
        pending=entry.actor not in members,
        epoch_head=entry.jws.hash,
        k_commits={**(roster.k_commits or {}), entry.epoch: entry.k_commit},
    )
