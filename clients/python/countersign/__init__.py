"""A verifier of the Countersign protocol, written from docs/protocol.md alone.

Each module has one subject, named as in that document. A refusal raises `Refused`, which has the
document's reason.
"""

from .refused import Refused

__all__ = ["Refused"]
