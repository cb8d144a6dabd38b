"""The state of a device's clock (section 11, `clock`). All times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass

from .codes import window_of

STEADY = "steady"
BEHIND = "behind"
AHEAD = "ahead"
UNMEASURED = "unmeasured"

_MOST = 30
_BACK = 60


@dataclass(frozen=True)
class Moment:
    """The wall clock and the uptime of the machine, and which start of the machine it is."""

    wall: float
    uptime: float
    start: str


def clock_state(
    now: Moment,
    reading: Moment | None,
    offset: float | None,
    last_good_sync: float | None,
    highest_window: int = 0,
) -> str:
    """Returns the state of the clock of a device that has a remote account server."""
    if window_of(now.wall) + 1 < highest_window or (offset is not None and offset > _MOST):
        return BEHIND
    anew = reading is not None and reading.start != now.start
    ran = 0.0
    if reading is not None:
        ran = 0.0 if anew else now.uptime - reading.uptime
        if now.wall < reading.wall + ran - _MOST:
            return BEHIND
    if last_good_sync is not None and now.wall < last_good_sync - _BACK:
        return BEHIND
    if offset is None or reading is None or anew:
        return UNMEASURED
    if now.wall > reading.wall + ran + _MOST or offset < -_MOST:
        return AHEAD
    return STEADY
