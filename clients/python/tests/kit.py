"""Runs the cases of the two test kits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from countersign import (
    approval,
    chain,
    codes,
    cpace,
    envelope,
    key_log,
    key_log_entry,
    members,
    names,
    profile,
    recovery,
    ristretto,
    roster,
    roster_entry,
    safety_number,
    seal_key,
    tokens,
    words,
)
from countersign.account import account_of
from countersign.clock import STEADY, Moment, clock_state
from countersign.ed25519 import verifies
from countersign.encoding import from_base64url, sha256
from countersign.ids import ACCOUNT, id_bytes, id_text
from countersign.members import Place, PublicKeys
from countersign.refused import Refused, need
from countersign.seal_key import NoMlKem
from countersign.strict_json import parse_json

from .summaries import key_log_summary, place_of, roster_summary

TESTS = Path(__file__).resolve().parents[3] / "test"

Case = Mapping[str, Any]
Found = Mapping[str, object]
Check = Callable[[Case, Case], Found]

SETTLED = {"double-separator": "length"}
"""Cases with two faults, and the reason that the protocol gives; kit 1 has the other one."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case: `agrees`, `skipped`, or else what differs."""

    file: str
    id: str
    says: str

    AGREES = "agrees"
    SKIPPED = "skipped"


def run(name: str) -> Iterator[Outcome]:
    """Runs a file of a kit, for example `testkit2/codes.json`."""
    file: Case = json.loads((TESTS / name).read_text("utf-8"))
    for case in file["cases"]:
        yield Outcome(name, case["id"], _outcome(name, case, file))


def _outcome(name: str, case: Case, file: Case) -> str:
    check = CHECKS[name][case.get("kind", "case") if len(CHECKS[name]) > 1 else "case"]
    expected = SETTLED.get(case["id"], case.get("reason", case.get("error")))
    try:
        found = check(case, file)
    except Refused as refused:
        if refused.reason == expected and (
            "unknown" not in case or refused.detail == case["unknown"]
        ):
            return Outcome.AGREES
        return f"refused: {refused}, not {expected}"
    except NoMlKem:
        return Outcome.SKIPPED
    if expected is not None or not case.get("accept", case.get("valid", True)):
        return f"accepted, and not refused: {expected}"
    compared = [field for field in found if field in case]
    for field in compared:
        if found[field] != case[field]:
            return f"{field}: {found[field]!r}, not {case[field]!r}"
    # A check without fields agrees by accepting.
    return Outcome.AGREES if compared or not found else "nothing is compared"


def _hex(case: Case, name: str) -> bytes:
    return bytes.fromhex(case[f"{name}_hex"])


def _keys(case: Case) -> PublicKeys:
    return PublicKeys(_hex(case, "sign"), _hex(case, "seal_sha256"), _hex(case, "auth"))


def _words(case: Case, _: Case) -> Found:
    try:
        indices = words.parse_words(case["input"], case["expect"])
    except Refused as refused:
        if "suggest_includes" in case:
            need(case["suggest_includes"] in words.nearest(refused.detail), "no suggestion")
        raise
    return {"indices": indices, "words": words.words_of(indices)}


def _id(case: Case, _: Case) -> Found:
    raw = id_bytes(case["prefix"], case["text"])
    return {"hex": raw.hex(), "text": id_text(case["prefix"], raw)}


def _token(case: Case, _: Case) -> Found:
    kind, text = tokens.check_token(case["token"]), case["token"]
    return {
        "kind": kind,
        "check": tokens.checksum(text[:34]),
        "sha256_hex": sha256(text.encode("ascii")).hex(),
    }


def _account_id(case: Case, _: Case) -> Found:
    if "entries" in case:
        return key_log_summary(key_log.verify_key_log(case["account"], case["entries"]))
    if "seal_public_hex" in case:
        need(sha256(_hex(case, "seal_public")) == _hex(case, "seal_sha256"), "other seal")
    account = account_of(_keys(case), _hex(case, "salt"))
    return {"account": account, "account_hex": id_bytes(ACCOUNT, account).hex()}


def _recovery(case: Case, _: Case) -> Found:
    paper = recovery.read_paper(case["input"])
    return {
        "seed_hex": paper.seed.hex(),
        "words": paper.words,
        "indices": paper.indices,
        "key_seed_hex": paper.key_seed.hex(),
        "public_hex": paper.public.hex(),
    }


def _key_log(case: Case, file: Case) -> Found:
    entries = [file["pool"][at] for at in case["entries"]]
    known = place_of(case["known"])
    return key_log_summary(key_log.verify_key_log(case["account"], entries, known))


def _newcomer(case: Case) -> approval.Newcomer:
    account = id_text("acc_", _hex(case, "account"))
    return approval.Newcomer(account, id_text("dev_", _hex(case, "device")), _keys(case))


def _sas(case: Case, _: Case) -> Found:
    newcomer = _newcomer(case)
    seen = Place(case["seq"], _hex(case, "head"))
    t = approval.transcript(newcomer, seen, _hex(case, "nN"), _hex(case, "nO"))
    for typed in case["typed"]:
        try:
            fits = approval.typed_fits(t, typed["side"], typed["input"])
        except Refused as refused:
            need(refused.reason in ("word_count", "unknown_word"), refused.reason)
            fits = False
        need(fits == typed["match"], "typed", typed["input"])
    return {
        "account": newcomer.account,
        "device": newcomer.device,
        "C_hex": approval.commitment(newcomer, _hex(case, "nN")).hex(),
        "T_hex": t.hex(),
        "new_shows": approval.words_of_new(t),
        "old_shows": approval.words_of_old(t),
    }


def _reveal(case: Case, _: Case) -> Found:
    approval.check_reveal(_hex(case, "C"), _newcomer(case), _hex(case, "nN"))
    return {}


def _own_check(case: Case, _: Case) -> Found:
    newcomer = approval.Newcomer(case["account"], case["device"], members.public_keys(case["keys"]))
    seen = place_of(case["seen"])
    assert seen is not None
    return {"seq": approval.check_own(newcomer, case["entries"], seen)[1]}


def _session(case: Case, _: Case) -> Found:
    prs, sid, ci = case["prs"].encode("utf-8"), _hex(case, "sid"), _hex(case, "ci")
    if "connection_hex" in case and "reason" not in case:
        channel = cpace.channel(_hex(case, "connection"), _hex(case, "inviter"))
        need(channel == ci, "other channel")
    side = cpace.Run(case["role"], prs, sid, ci, _hex(case, "scalar"), _hex(case, "ad"))
    share, ad = _hex(case, "received_share"), _hex(case, "received_ad")
    if "received_tag_hex" in case:
        tag, expected = _hex(case, "received_tag"), _hex(case, "expected_ad")
        keys = cpace.finish(side, share, ad, tag, expected)
    else:
        keys = cpace.derive(side, share, ad)
    return {
        "generator_string_hex": cpace.generator_string(prs, ci, sid).hex(),
        "generator_hex": cpace.generator(side).hex(),
        "share_hex": side.share.hex(),
        "K_hex": keys.shared.hex(),
        "isk_hex": keys.isk.hex(),
        "mac_key_hex": keys.mac_key.hex(),
        "tag_hex": keys.tag.hex(),
    }


def _scalar(case: Case, _: Case) -> Found:
    found = ristretto.multiply_checked(_hex(case, "scalar"), _hex(case, "point"))
    if found is None:
        raise Refused("cpace_abort")
    return {"K_hex": found.hex()}


def _roster(case: Case, file: Case) -> Found:
    logs = {}
    for account, entries in {**file["key_logs"], **case.get("key_logs", {})}.items():
        upto = case.get("logs_upto", {}).get(account, len(entries) - 1)
        logs[account] = _log(account, tuple(entries[: upto + 1]))
    entries = [file["pool"][at] for at in case["entries"]]
    found = roster.verify_roster(case["connection"], entries, logs, place_of(case["known"]))
    keys = {int(epoch): bytes.fromhex(key) for epoch, key in case["keys_hex"].items()}
    assert found.k_commits is not None
    for epoch, key in keys.items():
        committed = envelope.k_commit_of(case["connection"], epoch, key)
        need(found.k_commits[epoch] == committed, "k_commit", str(epoch))
    summary = roster_summary(found, logs)
    # The kit has these two in another order.
    return {
        **summary,
        "held": sorted(roster.held_by(found, logs), key=case["held"].index),
        "unconfirmed": sorted(roster.unconfirmed(found, logs), key=case["unconfirmed"].index),
    }


@lru_cache(maxsize=None)
def _log(account: str, entries: tuple[str, ...]) -> key_log.KeyLog:
    return key_log.verify_key_log(account, entries)


def _envelope(case: Case, file: Case) -> Found:
    newest = file["newest"][case["newest"]]
    epoch = envelope.Epoch(
        newest["connection"],
        newest["epoch"],
        _hex(newest, "epoch_head"),
        from_base64url(newest["k_commit"]),
    )
    held = {
        from_base64url(key["kid"]): _hex(key, "decapsulation_key") for key in case["recipient_keys"]
    }
    if "reason" not in case:
        # This needs no ML-KEM.
        info = envelope.read_envelope(case["envelope"]).info
        need(info.hex() == case["info_hex"], "other info")
    secret = envelope.open_envelope(case["envelope"], epoch, case["recipient"], held)
    return {"key_hex": secret.hex()}


def _kem(case: Case, _: Case) -> Found:
    # `cryptography` cannot encapsulate from given randomness: `eseed_hex` is not used.
    key = seal_key.expand(_hex(case, "decapsulation_key"))
    secret = seal_key.decapsulate(key, _hex(case, "enc"))
    return {"public_hex": key.public.hex(), "shared_secret_hex": secret.hex()}


def _seal_key(case: Case, _: Case) -> Found:
    seal_key.check_seal_key(_hex(case, "public"), _hex(case, "seal_sha256"))
    return {}


def _code(case: Case, _: Case) -> Found:
    if "key_hex" not in case:
        return {"purpose_shown": codes.purpose_shown(case["purpose"])}
    kind = case.get("label", "countersign/v2/code").removeprefix("countersign/v2/")
    kc = codes.code_key(
        kind, _hex(case, "key"), _hex(case, "subject"), case["epoch"], _hex(case, "head")
    )
    window, speaker = case["window"], _hex(case, "speaker")
    if case.get("mac") != 2:
        indices = codes.code(kc, window, speaker)
        return {"kc_hex": kc.hex(), "indices": indices, "words": words.words_of(indices)}
    asked = codes.Challenge(_hex(case, "listener"), case["challenge"], case["purpose"])
    shown = codes.purpose_shown(case["purpose"])
    indices = codes.challenge_code(kc, window, speaker, asked)
    return {
        "kc_hex": kc.hex(),
        "challenge_word": words.words_of([asked.word])[0],
        "purpose_shown": shown,
        "purpose_sha256_hex": sha256(shown.encode("utf-8")).hex(),
        "indices": indices,
        "words": words.words_of(indices),
    }


def _order(case: Case, _: Case) -> Found:
    log = key_log.verify_key_log(case["account"], case["key_log"])
    taken: profile.Profile | None = None
    results = []
    for text in case["profiles"]:
        try:
            taken = profile.newer(profile.verify_profile(text, log), taken)
            results.append("taken")
        except Refused as refused:
            results.append(refused.reason)
    return {
        "results": results,
        "name": None if taken is None else taken.name,
        "n": None if taken is None else taken.n,
    }


def _mark(case: Case, _: Case) -> Found:
    return {"marked": names.marks(case["name"], case["others"])}


def _json(case: Case, _: Case) -> Found:
    parse_json(case["text"].encode("utf-8"))
    return {}


def _ed25519(case: Case, _: Case) -> Found:
    public, message = _hex(case, "public"), _hex(case, "message")
    need(verifies(public, message, _hex(case, "signature")), "bad_signature")
    return {}


def _place(case: Case, _: Case) -> Found:
    module = roster_entry if case["log"] == "roster" else key_log_entry
    chain.check_place(case["seq"], case["op"], module.LAST_OPS)
    return {}


def _size(case: Case, _: Case) -> Found:
    key_log.verify_key_log(case["account"], case["entries"])
    return {"size": len(case["entries"][0])}


def _clock(case: Case, _: Case) -> Found:
    now = Moment(case["wall"], case["boot"], "the same")
    reading = Moment(case["measured_wall"], case["measured_boot"], "the same")
    state = clock_state(now, reading, 0, case["last_good_sync"])
    return {"clock_uncertain": state != STEADY}


def _safety_number(case: Case, _: Case) -> Found:
    sides = []
    for side in ("a", "b"):
        raw, root = _hex(case, side), _hex(case, f"{side}_root")
        if f"{side}_log" in case:
            log = key_log.verify_key_log(id_text(ACCOUNT, raw), case[f"{side}_log"])
            need(log.root == root, "other root")
        sides.append((raw, root))
    digest, groups = safety_number.safety_number(sides[0], sides[1])
    return {"digest_hex": digest.hex(), "groups": groups}


CHECKS: Mapping[str, Mapping[str, Check]] = {
    "testkit/words.json": {"case": _words},
    "testkit/ids.json": {"case": _id},
    "testkit/tokens.json": {"case": _token},
    "testkit2/account-id.json": {"case": _account_id},
    "testkit2/recovery.json": {"case": _recovery},
    "testkit2/keylog.json": {"case": _key_log},
    "testkit2/approval.json": {"sas": _sas, "reveal": _reveal, "own-check": _own_check},
    "testkit2/cpace.json": {"session": _session, "scalar": _scalar},
    "testkit2/roster.json": {"case": _roster},
    "testkit2/envelope.json": {"case": _envelope, "kem": _kem, "seal-key": _seal_key},
    "testkit2/codes.json": {"case": _code},
    "testkit2/profile-names.json": {"order": _order, "mark": _mark},
    "testkit2/limits.json": {
        "json": _json,
        "ed25519": _ed25519,
        "place": _place,
        "keylog": _size,
        "clock": _clock,
    },
    "testkit2/safety-number.json": {"case": _safety_number, "logs": _safety_number},
}
