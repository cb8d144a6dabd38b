"""The account id: the hash of the account's first keys."""

from __future__ import annotations

from .encoding import label, sha256
from .ids import ACCOUNT, id_text
from .members import PublicKeys


def account_of(keys: PublicKeys, salt: bytes) -> str:
    """Returns the id of the account with these first keys."""
    named = label("account") + keys.sign + keys.seal + keys.auth + salt
    return id_text(ACCOUNT, sha256(named)[:16])
