"""The one error of this package."""

from __future__ import annotations


class Refused(Exception):
    """Something does not follow the protocol.

    `reason` is the name that docs/protocol.md gives to the rule that is broken; `detail` says
    more for people, and never contains a secret.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


def need(holds: bool, reason: str, detail: str = "") -> None:
    """Raises Refused unless the condition holds."""
    if not holds:
        raise Refused(reason, detail)
