"""Signed names of accounts."""

from __future__ import annotations

from dataclasses import dataclass

from .ids import ACCOUNT, DEVICE
from .jws import Jws, check_signature, read_jws
from .key_log import KeyLog
from .members import Form, an_id, count, read_structure, text
from .refused import need
from .strict_json import Json
from .texts import category

_LONGEST = 64
_DIRECTION = "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_EMPTY = "\u115f\u1160\u2800\u3164\uffa0"


def _name(value: Json) -> str:
    name = text(value)
    need(1 <= len(name) <= _LONGEST, "bad_value", "a name has 1 to 64 characters")
    return name


_FORMS: dict[str, Form] = {
    "account": an_id(ACCOUNT, "not_an_account"),
    "device": an_id(DEVICE),
    "n": count(),
    "name": _name,
}


@dataclass(frozen=True)
class Profile:
    """A profile that is verified."""

    jws: Jws
    account: str
    device: str
    n: int
    name: str


def verify_profile(jws_text: str, log: KeyLog) -> Profile:
    """Verifies a profile against the newest key log known of its account."""
    jws = read_jws(jws_text, "profile+jws")
    read = read_structure(jws.payload, _FORMS)
    account, device = read.get("account", str), read.get("device", str)
    need(account == log.account, "wrong_account")
    signer = log.active_at(log.newest.seq, device)
    check_signature(jws, signer.keys.sign)
    return Profile(jws, account, device, read.get("n", int), read.get("name", str))


def newer(profile: Profile, before: Profile | None) -> Profile:
    """Returns the profile if it is newer than the one in force (`not_newer`).

    It is kept only if its name can be read, too: see `is_readable`.
    """
    if before is not None:
        is_higher = profile.n > before.n
        is_lower_hash = profile.n == before.n and profile.jws.hash < before.jws.hash
        need(is_higher or is_lower_hash, "not_newer")
    return profile


def is_readable(name: str) -> bool:
    """Returns whether a name can be read: something to see, and nothing that moves the rest."""
    if any(category(one) == "Cc" or one in _DIRECTION for one in name):
        return False
    return any(_is_visible(one) for one in name)


def _is_visible(character: str) -> bool:
    kind = category(character)
    return kind not in ("Cc", "Cf") and not kind.startswith("Z") and character not in _EMPTY
