"""The key log of an account: which devices have which keys, and since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .account import account_of
from .chain import accept, entry_hash
from .ed25519 import verifies
from .encoding import label, u64
from .generations import (
    MOST,
    Generation,
    Generations,
    begin,
    check_room,
    is_linked,
    naming,
)
from .ids import ACCOUNT, DEVICE, id_bytes
from .jws import check_signature, thumbprint
from .key_log_entry import KeyLogEntry, read_key_log_entry
from .members import Place, PublicKeys
from .refused import Refused, need


@dataclass(frozen=True)
class Device:
    """A device of a key log."""

    id: str
    keys: PublicKeys
    """Those of the entry that added it."""
    seal: bytes
    """The id of its newest sealing key."""
    added: int
    added_by: str
    """The op of that entry."""
    generation: int
    revoked: int | None = None
    """The place of the entry that revoked it."""


@dataclass(frozen=True)
class _State:
    account: str
    devices: Mapping[str, Device]
    """In order of addition."""
    used: frozenset[bytes]
    """All keys and ids of sealing keys so far."""
    generations: Generations
    last_exit: int
    """The place of the last `revoke` or `reset`, or -1."""


@dataclass(frozen=True)
class KeyLog:
    """A verified key log."""

    account: str
    heads: tuple[bytes, ...]
    devices: Mapping[str, Device]
    generations: Generations
    last_exit: int

    @property
    def newest(self) -> Place:
        """The place of the newest entry."""
        return Place(len(self.heads) - 1, self.heads[-1])

    @property
    def root(self) -> bytes:
        """The hash of the first entry of the newest generation."""
        return self.root_of(len(self.generations))

    @property
    def active(self) -> list[Device]:
        """The devices that are active at the end, in order of addition."""
        return [device for device in self.devices.values() if device.revoked is None]

    def root_of(self, generation: int) -> bytes:
        """Returns the hash of the first entry of a generation."""
        return self.heads[self.generations[generation - 1].start]

    def has(self, place: Place) -> bool:
        """Returns whether the log has this entry at this place."""
        return place.seq < len(self.heads) and self.heads[place.seq] == place.head

    def generation_at(self, seq: int) -> int:
        """Returns the number of the generation at a place."""
        return sum(generation.start <= seq for generation in self.generations)

    def is_linked(self, earlier: int, later: int) -> bool:
        """Returns whether a generation is linked to an earlier one."""
        return is_linked(self.generations, earlier, later)

    def active_at(self, seq: int, device: str) -> Device:
        """Returns a device that is active at a place; `unknown_signer`, `revoked_signer`."""
        found = self.devices.get(device)
        if found is None or found.added > seq:
            raise Refused("unknown_signer", device)
        need(found.revoked is None or found.revoked > seq, "revoked_signer", device)
        return found


def verify_key_log(account: str, entries: Sequence[str], known: Place | None = None) -> KeyLog:
    """Verifies a key log; `known` is the highest place that was accepted of it before."""
    try:
        id_bytes(ACCOUNT, account)
    except Refused:
        raise Refused("not_an_account", account) from None

    def read(text: str) -> KeyLogEntry:
        entry = read_key_log_entry(text)
        need(entry.account == account, "wrong_account")
        return entry

    states = accept(
        entries,
        known,
        read,
        _apply,
        _State(account, {}, frozenset(), (), -1),
        "key_log_forked",
    )
    end = states[-1]
    heads = tuple(entry_hash(text) for text in entries)
    return KeyLog(account, heads, end.devices, end.generations, end.last_exit)


def recovery_input(op: int, entry: KeyLogEntry, body: bytes) -> bytes:
    """Returns what a recovery key signs."""
    account = id_bytes(ACCOUNT, entry.account)
    return label("recovery-sig") + bytes([op]) + account + u64(entry.seq) + entry.prev + body


def _apply(state: _State, entry: KeyLogEntry) -> _State:
    if entry.seq == 0:
        return _start(state, entry)
    if entry.op == "reset":
        return _reset(state, entry)
    signer = _active(state, entry.by)
    check_signature(entry.jws, signer.keys.sign)
    if entry.op == "add":
        return _join(state, entry)
    if entry.op == "revoke":
        return _revoke(state, entry)
    if entry.op == "renew":
        return _renew(state, entry, signer)
    return _recovery(state, entry)


def _start(state: _State, entry: KeyLogEntry) -> _State:
    keys, salt = entry.keys, entry.salt
    assert keys is not None and salt is not None
    is_own = entry.by == entry.device and entry.jws.kid == thumbprint(keys.sign)
    need(is_own, "seq0_not_self_signed")
    check_signature(entry.jws, keys.sign)
    need(account_of(keys, salt) == state.account, "account_mismatch")
    return _join(replace(state, generations=(Generation(0, None),)), entry)


def _active(state: _State, device: str) -> Device:
    found = state.devices.get(device)
    if found is None:
        raise Refused("unknown_signer", device)
    need(found.revoked is None, "revoked_signer", device)
    return found


def _join(state: _State, entry: KeyLogEntry) -> _State:
    device, keys = entry.device, entry.keys
    assert device is not None and keys is not None
    need(device not in state.devices, "duplicate_device", device)
    used = _use(state, keys.sign, keys.seal, keys.auth)
    joined = Device(device, keys, keys.seal, entry.seq, entry.op, len(state.generations))
    return replace(state, devices={**state.devices, device: joined}, used=used)


def _use(state: _State, *keys: bytes) -> frozenset[bytes]:
    """Returns the keys used so far with these; none may be there twice."""
    used = state.used | set(keys)
    need(len(used) == len(state.used) + len(keys), "duplicate_key")
    return used


def _revoke(state: _State, entry: KeyLogEntry) -> _State:
    assert entry.device is not None
    found = state.devices.get(entry.device)
    if found is None:
        raise Refused("unknown_device", entry.device)
    need(found.revoked is None, "already_revoked", found.id)
    devices = {**state.devices, found.id: replace(found, revoked=entry.seq)}
    return replace(state, devices=devices, last_exit=entry.seq)


def _renew(state: _State, entry: KeyLogEntry, signer: Device) -> _State:
    need(entry.device == signer.id, "renew_not_self_signed")
    assert entry.seal is not None
    used = _use(state, entry.seal)
    devices = {**state.devices, signer.id: replace(signer, seal=entry.seal)}
    return replace(state, devices=devices, used=used)


def _recovery(state: _State, entry: KeyLogEntry) -> _State:
    key, signature = entry.key, entry.recovery_sig
    assert key is not None
    in_force = state.generations[-1].in_force
    if in_force is None:
        need(signature is None, "superfluous_member", "no recovery key is in force")
    else:
        if signature is None:
            raise Refused("missing_recovery_sig")
        need(verifies(in_force, recovery_input(2, entry, key), signature), "bad_recovery_sig")
    used = _use(state, key)
    return replace(state, used=used, generations=naming(state.generations, key))


def _reset(state: _State, entry: KeyLogEntry) -> _State:
    keys, device = entry.keys, entry.device
    assert keys is not None and device is not None
    is_own = entry.by == device and entry.jws.kid == thumbprint(keys.sign)
    need(is_own, "reset_not_self_signed")
    check_signature(entry.jws, keys.sign)
    need(len(state.generations) < MOST, "log_full", "the log has its last generation")
    key = _recovery_key_of(state, entry, id_bytes(DEVICE, device), keys)
    check_room(state.generations, key)
    devices = {
        id: one if one.revoked is not None else replace(one, revoked=entry.seq)
        for id, one in state.devices.items()
    }
    generations = begin(state.generations, entry.seq, key)
    ended = replace(state, devices=devices, generations=generations, last_exit=entry.seq)
    return _join(ended, entry)


def _recovery_key_of(
    state: _State, entry: KeyLogEntry, device: bytes, keys: PublicKeys
) -> bytes | None:
    """Returns the recovery key that signed a reset, or None if none did."""
    if entry.recovery_sig is None:
        return None
    signed = recovery_input(1, entry, device + keys.sign + keys.seal + keys.auth)
    in_force = {one.in_force: None for one in state.generations if one.in_force is not None}
    for key in in_force:
        if key is not None and verifies(key, signed, entry.recovery_sig):
            return key
    raise Refused("bad_recovery_sig")
