"""What the command does: checks stamps offline, and computes the words of a guest's link."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from .codes import GUEST, code, code_key, window_of
from .encoding import from_base64url
from .ids import ACCOUNT, id_bytes
from .ids import GUEST as GUEST_ID
from .members import public_key
from .refused import Refused, need
from .stamp import StampFacts, content_of, verify_stamp
from .stamp_file import read_stamp_file
from .strict_json import Json, parse_json
from .words import words_of

DONE, FAILED, USAGE, REFUSED, UNKNOWN = 0, 1, 2, 10, 11
"""Exit codes, as of `countersignd`."""

_LINK = re.compile(r".*/g/(gst_[^/#?]*)#([A-Za-z0-9_-]*)", re.ASCII)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command, and returns its exit code."""
    given = _parser().parse_args(arguments)
    try:
        answer: int = given.run(given)
        return answer
    except Refused as refused:
        _print_refusal(refused, getattr(given, "json", False))
        return REFUSED
    except OSError as error:
        print(f"{error.filename}: {error.strerror}. Nothing was checked.", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="countersign", description="Verifies data of Countersign, without a daemon."
    )
    groups = parser.add_subparsers(required=True, metavar="COMMAND")

    stamp = groups.add_parser("stamp", help="stamps").add_subparsers(required=True, metavar="VERB")
    verify = stamp.add_parser(
        "verify",
        help="check a stamp offline",
        description="Checks that the signature in STAMP is for the content of FILE. Exit code 0: "
        "good; 11: good, but the signer is unknown without --root; 10: not good.",
    )
    verify.add_argument("file", metavar="FILE", type=Path)
    verify.add_argument("stamp", metavar="STAMP", type=Path)
    verify.add_argument("--root", type=_root, help="the 64 digits that the signer gave you")
    verify.add_argument("--receipt-key", metavar="JWK_FILE", type=Path)
    verify.add_argument("--json", action="store_true", help="print one JSON object")
    verify.set_defaults(run=_verify_stamp)

    words = groups.add_parser("code", help="words").add_subparsers(required=True, metavar="KIND")
    guest = words.add_parser(
        "guest",
        help="the words of a guest's link",
        description="Reads the link of a guest code on standard input, and prints the words of "
        "this minute: those that the guest says, and with --account those of the other side.",
    )
    guest.add_argument("--account", help="the account id of the person who made the link")
    guest.set_defaults(run=_guest_words)
    return parser


def _root(text: str) -> bytes:
    if re.fullmatch("[0-9a-fA-F]{64}", text) is None:
        raise argparse.ArgumentTypeError("a root has 64 hexadecimal digits")
    return bytes.fromhex(text)


def _verify_stamp(given: argparse.Namespace) -> int:
    file = read_stamp_file(given.stamp.read_bytes())
    with given.file.open("rb") as stamped:
        content = content_of(stamped)
    key = None if given.receipt_key is None else _receipt_key(given.receipt_key)
    facts = verify_stamp(file, content, key)
    if given.root is not None:
        facts.known_by(given.root)
    is_known = given.root is not None
    receipt = "none" if file.receipt is None else "unknown_key" if key is None else "verified"
    if given.json:
        print(json.dumps(_json_of(facts, is_known, receipt)))
    else:
        print("\n".join(_lines_of(facts, is_known, receipt)))
    return DONE if is_known else UNKNOWN


def _receipt_key(path: Path) -> bytes:
    try:
        return public_key(parse_json(path.read_bytes()))
    except Refused as refused:
        raise Refused(refused.reason, f"{path} is not a public key as a JWK") from None


def _json_of(facts: StampFacts, is_known: bool, receipt: str) -> dict[str, Json]:
    """Returns the result with the members of `countersignd stamp verify --json`."""
    stamp = facts.stamp
    return {
        "valid": is_known,
        "conclusive": is_known,
        **({} if is_known else {"reason": "signer_unknown"}),
        "signer": "root" if is_known else "unknown",
        "account_id": stamp.account,
        "root": facts.root.hex(),
        "began_anew": facts.generation > 1,
        "device_id": stamp.device,
        "signed_at": _time(stamp.signed_at),
        "received_at": None if facts.receipt is None else _time(facts.receipt.received_at),
        "receipt": receipt,
        "assurance_level": facts.assurance,
        "media_type": stamp.media_type,
        "context": stamp.context,
        "words": " ".join(stamp.words),
    }


def _lines_of(facts: StampFacts, is_known: bool, receipt: str) -> list[str]:
    stamp = facts.stamp
    received = {
        "none": "unknown, because the stamp contains no receipt",
        "unknown_key": "not checked, because no --receipt-key was given",
    }
    at = facts.receipt and _time(facts.receipt.received_at)
    lines = [
        "The signature is for this content."
        if is_known
        else "The signature is for this content; the signer is unknown.",
        f"account      {stamp.account} ({'the root is the one given' if is_known else 'unknown'})",
        f"root         {facts.root.hex()}",
        f"device       {stamp.device}",
        f"signed at    {_time(stamp.signed_at)} (as the signer claims)",
        f"received at  {received.get(receipt, at)}",
        f"assurance    {facts.assurance}",
        f"key log      {len(facts.log.heads)} entries. Later revocations are not included",
    ]
    if stamp.context is not None:
        lines.append(f"context      {_shown(stamp.context)}")
    if facts.generation > 1:
        how = "with" if facts.log.is_linked(1, facts.generation) else "without"
        lines.append(f"warning      All devices were once replaced, {how} the recovery key.")
    if not is_known:
        lines.append("Ask the signer for the root, in a way that you trust, and add: --root ROOT")
    return lines


def _guest_words(given: argparse.Namespace) -> int:
    link = _LINK.fullmatch(sys.stdin.read().strip())
    if link is None:
        raise Refused("bad_value", "standard input is not the link of a guest code")
    subject, key = id_bytes(GUEST_ID, link[1]), from_base64url(link[2])
    need(len(key) == 32, "bad_value", "the part of the link after # is not whole")
    kc, window = code_key(GUEST, key, subject), window_of(time.time())
    sides = [("guest", subject)]
    if given.account is not None:
        sides.append(("owner", id_bytes(ACCOUNT, given.account)))
    for name, side in sides:
        print(f"{name}   {' '.join(words_of(code(kc, window, side)))}")
    return DONE


def _print_refusal(refused: Refused, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"valid": False, "conclusive": True, "reason": refused.reason}))
    else:
        print(f"Not good: {refused}.", file=sys.stderr)


def _time(seconds: int) -> str:
    try:
        at = datetime.fromtimestamp(seconds, timezone.utc)
        return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    except (OverflowError, ValueError, OSError):
        return f"{seconds} seconds after 1970"


def _shown(text: str) -> str:
    """Returns a text in one line, without characters that could move the rest."""
    return "".join(one if one.isprintable() else f"\\u{{{ord(one):x}}}" for one in text)
