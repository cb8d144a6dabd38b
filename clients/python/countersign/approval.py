"""Approval of a further device: N is the new device, O an active one."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from .codes import same_words
from .encoding import label, sha256, u64
from .ids import ACCOUNT, DEVICE, id_bytes
from .key_log import KeyLog, verify_key_log
from .members import Place, PublicKeys
from .refused import Refused, need
from .words import indices_of, parse_words, words_of


@dataclass(frozen=True)
class Newcomer:
    """What N claims to be."""

    account: str
    device: str
    keys: PublicKeys

    @property
    def input(self) -> bytes:
        """Account, device and keys, as both hashes have them."""
        ids = id_bytes(ACCOUNT, self.account) + id_bytes(DEVICE, self.device)
        return ids + self.keys.sign + self.keys.seal + self.keys.auth


def commitment(newcomer: Newcomer, nonce: bytes) -> bytes:
    """Returns C, which N sends first."""
    return sha256(label("approve") + newcomer.input + nonce)


def check_reveal(committed: bytes, newcomer: Newcomer, nonce: bytes) -> None:
    """Requires that the revealed values are those of C (`commitment_mismatch`)."""
    need(hmac.compare_digest(committed, commitment(newcomer, nonce)), "commitment_mismatch")


def transcript(newcomer: Newcomer, seen: Place, new_nonce: bytes, old_nonce: bytes) -> bytes:
    """Returns T; `seen` is the place of the log that O answered."""
    place = u64(seen.seq) + seen.head
    return sha256(label("sas") + newcomer.input + place + new_nonce + old_nonce)


def words_of_new(t: bytes) -> list[str]:
    """Returns words 1 to 4, which N shows and O expects."""
    return words_of(indices_of(t[:12], 8)[:4])


def words_of_old(t: bytes) -> list[str]:
    """Returns words 5 to 8, which O shows and N expects."""
    return words_of(indices_of(t[:12], 8)[4:])


def typed_fits(t: bytes, side: str, typed: str) -> bool:
    """Returns whether the words typed into a device, `O` or `N`, are those of the other one.

    Raises Refused `word_count` or `unknown_word`: such words may be typed again.
    """
    shown = indices_of(t[:12], 8)
    return same_words(parse_words(typed, 4), shown[:4] if side == "O" else shown[4:])


def check_own(newcomer: Newcomer, entries: Sequence[str], seen: Place) -> tuple[KeyLog, int]:
    """Checks the log that N gets, and returns it with the place of N's own entry.

    Raises the reasons of a key log, and `not_in_log`, `own_keys_differ`, `added_before`,
    `generation_changed` or `not_active`.
    """
    log = verify_key_log(newcomer.account, entries, seen)
    own = log.devices.get(newcomer.device)
    if own is None:
        raise Refused("not_in_log")
    need(own.keys == newcomer.keys, "own_keys_differ")
    need(own.added > seen.seq, "added_before")
    same = own.generation == log.generation_at(seen.seq)
    need(same and own.added_by == "add", "generation_changed")
    need(own.revoked is None, "not_active")
    return log, own.added
