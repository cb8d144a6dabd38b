"""What is compared of verified logs, in the form of the test kit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countersign.encoding import base64url
from countersign.key_log import KeyLog
from countersign.members import Place
from countersign.roster import KeyLogs, Roster, held_by, unconfirmed


def place_of(known: Mapping[str, Any] | None) -> Place | None:
    """Returns the place that a case calls `known` or `seen`."""
    return None if known is None else Place(known["seq"], bytes.fromhex(known["head_hex"]))


def key_log_summary(log: KeyLog) -> Mapping[str, object]:
    """Returns what the kit says of a key log."""
    number = len(log.generations)
    key = log.generations[-1].in_force
    return {
        "head_hex": log.newest.head.hex(),
        "seq": log.newest.seq,
        "generation": number,
        "linked_to": [one for one in range(1, number + 1) if log.is_linked(one, number)],
        "recovery": None if key is None else base64url(key),
        "active": [device.id for device in log.active],
        "seals": {device.id: base64url(device.seal) for device in log.active},
    }


def roster_summary(roster: Roster, logs: KeyLogs) -> Mapping[str, object]:
    """Returns what the kit says of a roster."""
    return {
        "head_hex": roster.heads[-1].hex(),
        "seq": len(roster.heads) - 1,
        "epoch": roster.epoch,
        "epoch_head_hex": roster.epoch_head.hex(),
        "members": [
            {"account": seat.account, "role": seat.role, "generation": seat.generation}
            for seat in roster.seats
        ],
        "rotation_pending": roster.pending,
        "held": sorted(held_by(roster, logs)),
        "unconfirmed": sorted(unconfirmed(roster, logs)),
    }
