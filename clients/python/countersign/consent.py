"""Consents: an account allows one inviter to add it to one connection."""

from __future__ import annotations

from dataclasses import dataclass

from .ids import ACCOUNT, CONNECTION, DEVICE
from .jws import Jws, check_signature, read_jws
from .key_log import KeyLog
from .members import Form, Place, an_id, count, octets, place, read_structure
from .refused import Refused, need

_FORMS: dict[str, Form] = {
    "connection": an_id(CONNECTION),
    "inviter": an_id(ACCOUNT, "not_an_account"),
    "account": an_id(ACCOUNT, "not_an_account"),
    "device": an_id(DEVICE),
    "key_log": place,
    "roster_head": octets(32),
    "at": count(),
}


@dataclass(frozen=True)
class Consent:
    """A consent of which the form is checked, and the signature is not."""

    jws: Jws
    connection: str
    inviter: str
    account: str
    device: str
    key_log: Place
    roster_head: bytes


def read_consent(text: str) -> Consent:
    """Reads a consent; every fault of its form is `bad_consent`."""
    try:
        jws = read_jws(text, "consent+jws")
        read = read_structure(jws.payload, _FORMS)
    except Refused as refused:
        raise Refused("bad_consent", str(refused)) from None
    return Consent(
        jws,
        read.get("connection", str),
        read.get("inviter", str),
        read.get("account", str),
        read.get("device", str),
        read.get("key_log", Place),
        read.get("roster_head", bytes),
    )


def check_consent(
    text: str,
    asked: tuple[str, str, str],
    log: KeyLog,
    member_log: Place,
    heads_since_exit: tuple[bytes, ...],
) -> None:
    """Checks the consent of an `add`.

    `asked` is connection, inviter and account; `heads_since_exit` are the hashes of the entries
    since the account left, or of all if it never did.
    """
    consent = read_consent(text)
    named = (consent.connection, consent.inviter, consent.account)
    need(named == asked, "consent_mismatch")
    at = consent.key_log
    need(log.has(at) and at.seq <= member_log.seq, "consent_log")
    try:
        device = log.active_at(at.seq, consent.device)
        log.active_at(member_log.seq, consent.device)
    except Refused as refused:
        raise Refused("consent_log", str(refused)) from None
    try:
        check_signature(consent.jws, device.keys.sign)
    except Refused as refused:
        raise Refused("bad_consent", str(refused)) from None
    need(consent.roster_head in heads_since_exit, "consent_stale")
