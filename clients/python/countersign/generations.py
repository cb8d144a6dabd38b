"""Generations of a key log, and which of them a recovery key links."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .refused import need

MOST = 256
UNSIGNED = 240
"""After this many, a generation begins only with a recovery key."""


@dataclass(frozen=True)
class Generation:
    """The part of a key log between two resets."""

    start: int
    """The place of the entry that began it."""
    in_force: bytes | None
    """The recovery key in force, or None."""
    successor: int | None = None
    """The number of the generation that a reset with this generation's key began."""


Generations = tuple[Generation, ...]
"""Generation 1 is the first."""


def naming(generations: Generations, key: bytes) -> Generations:
    """Returns the generations after the newest named a recovery key."""
    return (*generations[:-1], replace(generations[-1], in_force=key))


def begin(generations: Generations, start: int, key: bytes | None) -> Generations:
    """Returns the generations after a reset, with the recovery key that signed it, if any."""
    number = len(generations) + 1
    linked = tuple(
        replace(one, successor=number)
        if key is not None and one.successor is None and one.in_force == key
        else one
        for one in generations
    )
    return (*linked, Generation(start, key))


def check_room(generations: Generations, key: bytes | None) -> None:
    """Requires that a reset with this recovery key may begin one more (`log_full`)."""
    if len(generations) < UNSIGNED:
        return
    need(key is not None, "log_full", "only a recovery key can begin the last generations")
    in_force = generations[newest_linked(generations, 1) - 1].in_force
    need(in_force is None or in_force == key, "log_full", "another recovery key is in force")


def newest_linked(generations: Generations, number: int) -> int:
    """Returns the newest generation that is linked to this one."""
    while (successor := generations[number - 1].successor) is not None:
        number = successor
    return number


def is_linked(generations: Generations, earlier: int, later: int) -> bool:
    """Returns whether `later` is linked to `earlier`."""
    number: int | None = earlier
    while number is not None and number < later:
        number = generations[number - 1].successor
    return number == later
