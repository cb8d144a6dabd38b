"""Answers questions of another implementation, as JSON lines: `python3 -m tests.answers`.

A question has `ask` and what it is about; its answer has `value`, or the `reason` of a refusal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from countersign import approval, codes, cpace, names, recovery, safety_number, words
from countersign.account import account_of
from countersign.ed25519 import verifies
from countersign.encoding import from_base64url
from countersign.envelope import Epoch, open_envelope
from countersign.ids import id_bytes
from countersign.key_log import KeyLog, verify_key_log
from countersign.members import Place, PublicKeys, public_key
from countersign.profile import newer, verify_profile
from countersign.refused import Refused
from countersign.roster import verify_roster
from countersign.seal_key import NoMlKem
from countersign.stamp import Content, verify_stamp
from countersign.stamp_file import ordinary_json, read_stamp_file
from countersign.strict_json import Json, parse_json
from countersign.texts import category
from countersign.tokens import check_token

from .makers import made_stamp
from .summaries import key_log_summary, place_of, roster_summary

Question = Mapping[str, Any]


def _raw(of: Question, *fields: str) -> list[bytes]:
    return [bytes.fromhex(of[field]) for field in fields]


def _keys(of: Question) -> PublicKeys:
    return PublicKeys(*_raw(of, "sign", "seal", "auth"))


def _code(of: Question) -> object:
    key, subject, head, speaker = _raw(of, "key", "subject", "head", "speaker")
    kc = codes.code_key(of["kind"], key, subject, of["epoch"], head)
    if "challenge" not in of:
        return codes.code(kc, of["window"], speaker)
    asked = codes.Challenge(bytes.fromhex(of["listener"]), of["challenge"], of["purpose"])
    return codes.challenge_code(kc, of["window"], speaker, asked)


def _json(of: Question) -> object:
    return _listed(parse_json(bytes.fromhex(of["data"])))


def _listed(value: Json) -> object:
    """Returns JSON in which objects are lists of pairs, in their order."""
    if isinstance(value, dict):
        return {"members": [[name, _listed(item)] for name, item in value.items()]}
    return [_listed(item) for item in value] if isinstance(value, list) else value


def _ordinary(of: Question) -> object:
    value = ordinary_json(bytes.fromhex(of["data"]))
    return isinstance(value, dict)


def _approval(of: Question) -> object:
    new_nonce, old_nonce, head = _raw(of, "nN", "nO", "head")
    newcomer = approval.Newcomer(of["account"], of["device"], _keys(of))
    t = approval.transcript(newcomer, Place(of["seq"], head), new_nonce, old_nonce)
    shown = [approval.words_of_new(t), approval.words_of_old(t)]
    return [approval.commitment(newcomer, new_nonce).hex(), t.hex(), *shown]


def _paper(of: Question) -> object:
    paper = recovery.read_paper(of["input"])
    return [paper.seed.hex(), paper.key_seed.hex()]


def _safety_number(of: Question) -> object:
    a, a_root, b, b_root = _raw(of, "a", "aRoot", "b", "bRoot")
    return safety_number.safety_number((a, a_root), (b, b_root))[1]


def _first_contact(of: Question) -> object:
    sid, ci, scalar, ad, share, other = _raw(of, "sid", "ci", "scalar", "ad", "share", "otherAd")
    run = cpace.Run(of["role"], of["prs"].encode("utf-8"), sid, ci, scalar, ad)
    keys = cpace.derive(run, share, other)
    return [run.share.hex(), keys.isk.hex(), keys.tag.hex(), keys.expected_tag.hex()]


def _characters(of: Question) -> object:
    """Returns what each character of a range becomes, and null if this Python has none."""
    return [
        None if category(chr(code)) in ("Cn", "Cs") else _character(chr(code))
        for code in range(of["from"], of["to"])
    ]


def _character(one: str) -> list[object]:
    beside = [bool(names.marks(f"{one}{letter}", ())) for letter in "aαа"]
    return [codes.purpose_shown(one), names.comparable(one), beside]


def _key_log(of: Question) -> object:
    known = place_of(of["known"])
    return key_log_summary(verify_key_log(of["account"], of["entries"], known))


@lru_cache(maxsize=64)
def _log(account: str, entries: tuple[str, ...]) -> KeyLog:
    return verify_key_log(account, entries)


def _roster(of: Question) -> object:
    logs = {account: _log(account, tuple(entries)) for account, entries in of["logs"]}
    roster = verify_roster(of["connection"], of["entries"], logs, place_of(of["known"]))
    return roster_summary(roster, logs)


def _profile(of: Question) -> object:
    log = _log(of["account"], tuple(of["log"]))
    kept = None if of["kept"] is None else newer(verify_profile(of["kept"], log), None)
    profile = newer(verify_profile(of["next"], log), kept)
    return [profile.device, profile.n, profile.name]


def _envelope(of: Question) -> object:
    newest = of["newest"]
    epoch = Epoch(
        newest["connection"],
        newest["epoch"],
        bytes.fromhex(newest["head"]),
        from_base64url(newest["kCommit"]),
    )
    held = {from_base64url(kid): bytes.fromhex(key) for kid, key in of["held"].items()}
    try:
        return open_envelope(of["envelope"], epoch, of["recipient"], held).hex()
    except NoMlKem:
        raise Refused("no_ml_kem") from None


def _stamp(of: Question) -> object:
    file = read_stamp_file(of["file"].encode("utf-8"))
    content = None
    if of["sha256"] is not None:
        content = Content(bytes.fromhex(of["sha256"]), of["length"])
    facts = verify_stamp(file, content, None if of["key"] is None else public_key(of["key"]))
    found = [facts.stamp.account, facts.stamp.device, facts.root.hex(), facts.generation]
    return [*found, facts.stamp.words, facts.stamp.fragment, facts.assurance]


ANSWERS: Mapping[str, Callable[[Question], object]] = {
    "account": lambda of: account_of(_keys(of), *_raw(of, "salt")),
    "approval": _approval,
    "characters": _characters,
    "code": _code,
    "envelope": _envelope,
    "first contact": _first_contact,
    "id": lambda of: id_bytes(of["prefix"], of["text"]).hex(),
    "json": _json,
    "key log": _key_log,
    "made stamp": lambda of: made_stamp(bytes.fromhex(of["seed"]), bytes.fromhex(of["content"])),
    "name": lambda of: [names.comparable(of["name"]), names.marks(of["name"], of["others"])],
    "ordinary json": _ordinary,
    "paper": _paper,
    "profile": _profile,
    "purpose": lambda of: codes.purpose_shown(of["typed"]),
    "roster": _roster,
    "safety number": _safety_number,
    "signature": lambda of: verifies(*_raw(of, "key", "message", "signature")),
    "stamp": _stamp,
    "token": lambda of: check_token(of["text"]),
    "words": lambda of: words.parse_words(of["typed"], of["number"]),
}


def main() -> None:
    """Answers each line of standard input."""
    for line in sys.stdin:
        question: Question = json.loads(line)
        try:
            answer: object = {"value": ANSWERS[question["ask"]](question)}
        except Refused as refused:
            answer = {"reason": refused.reason}
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
