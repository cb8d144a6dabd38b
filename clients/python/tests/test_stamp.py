"""Stamps, by their rules one after the other."""

from __future__ import annotations

import io
import json
import unittest
from collections.abc import Mapping
from typing import Any

from countersign.encoding import base64url, sha256
from countersign.members import public_key
from countersign.refused import Refused
from countersign.stamp import Content, StampFile, content_of, verify_stamp
from countersign.stamp_file import read_stamp_file

from .makers import Account, Signer, made_stamp

CONTENT = b"pay 17 to the usual account\n"
ACCOUNT = Account(Signer(b"\1" * 32))
OTHER = Account(Signer(b"\2" * 32))


def signed(
    changes: Mapping[str, object], log: list[str] = ACCOUNT.log, by: Signer = ACCOUNT.device
) -> StampFile:
    """Returns a stamp file of which the stamp has other members."""
    payload = {**ACCOUNT.stamp(CONTENT), **changes}
    return StampFile(by.sign("stamp+jws", payload), log)


def revoked() -> list[str]:
    """Returns a key log in which the device revoked itself."""
    prev = base64url(sha256(ACCOUNT.log[0].encode("ascii")))
    own = ACCOUNT.device.id
    entry = {"v": 2, "account": ACCOUNT.id, "seq": 1, "prev": prev, "op": "revoke"}
    payload = {**entry, "device": own, "by": own, "at": 0}
    return [*ACCOUNT.log, ACCOUNT.device.sign("keylog+jws", payload)]


class TestStamp(unittest.TestCase):
    """What `verify_stamp` accepts and refuses."""

    def assert_refused(self, reason: str, file: StampFile, content: Content | None = None) -> None:
        with self.assertRaises(Refused) as caught:
            verify_stamp(file, content)
        self.assertEqual(caught.exception.reason, reason)

    def test_a_stamp_of_content(self) -> None:
        content = content_of(io.BytesIO(CONTENT))
        facts = verify_stamp(signed({}), content)
        self.assertEqual(facts.stamp.account, ACCOUNT.id)
        self.assertEqual(facts.root, sha256(ACCOUNT.log[0].encode("ascii")))
        self.assertEqual((facts.generation, facts.assurance), (1, "device"))
        facts.known_by(facts.root)
        with self.assertRaisesRegex(Refused, "other_root"):
            facts.known_by(bytes(32))

    def test_faults(self) -> None:
        zeros = base64url(bytes(32))
        cases: Mapping[str, StampFile] = {
            "wrong_version": signed({"v": 1}),
            "unknown_member": signed({"more": 1}),
            "bad_value": signed({"clock": {"source": "local", "offset_ms": 5}}),
            "account_mismatch": signed({"iss": OTHER.id}, OTHER_UNDER_ITS_ID),
            "wrong_account": signed({"iss": OTHER.id}, revoked()[1:]),
            "key_log_mismatch": signed({"key_log": {"seq": 0, "head": zeros}}),
            "unknown_signer": signed({"dev": OTHER.device.id}),
            "kid_mismatch": signed({}, by=OTHER.device),
            "assurance_claimed": signed({"assurance": "organisation"}),
            "revoked_key": signed({}, revoked()),
            "empty": signed({}, []),
        }
        for reason, file in cases.items():
            with self.subTest(reason=reason):
                self.assert_refused(reason, file)

    def test_other_content(self) -> None:
        self.assert_refused("digest_mismatch", signed({}), Content(bytes(32)))
        self.assert_refused("len_mismatch", signed({}), Content(sha256(CONTENT), 1))
        verify_stamp(signed({"len": None}), Content(sha256(CONTENT), 1))

    def test_a_changed_signature(self) -> None:
        file = signed({})
        head, body, signature = file.stamp.split(".")
        for at, reason in ((0, "bad_signature"), (85, "respelt_base64")):
            other = "B" if signature[at] == "A" else "A"
            changed = signature[:at] + other + signature[at + 1 :]
            if at == 85:
                changed = signature[:at] + "B"
            self.assert_refused(reason, StampFile(f"{head}.{body}.{changed}", file.key_log))

    def test_a_receipt(self) -> None:
        made: dict[str, Any] = dict(made_stamp(b"\3" * 32, CONTENT))
        key = public_key(made["receipt_key"])
        file = StampFile(made["stamp"], made["key_log"], made["receipt"])
        self.assertEqual(verify_stamp(file).assurance, "device")
        self.assertEqual(verify_stamp(file, receipt_key=key).assurance, "organisation")
        with self.assertRaisesRegex(Refused, "unknown_signer"):
            verify_stamp(file, receipt_key=OTHER.device.public)
        elsewhere = StampFile(signed({}).stamp, ACCOUNT.log, made["receipt"])
        with self.assertRaisesRegex(Refused, "receipt_mismatch"):
            verify_stamp(elsewhere, receipt_key=key)

    def test_a_file_is_ordinary_json(self) -> None:
        stamp = signed({})
        members = {"stamp": "no", "key_log": ACCOUNT.log, "receipt": None, "more": 1e9}
        text = json.dumps(members)[:-1] + f', "stamp": {json.dumps(stamp.stamp)}}}'
        self.assertEqual(read_stamp_file(text.encode()), StampFile(stamp.stamp, ACCOUNT.log))
        for wrong, reason in (
            ("[]", "bad_json"),
            ('{"stamp": NaN}', "bad_json"),
            ("[" * 100_000, "bad_json"),
            ('{"stamp": ""}', "missing_member"),
            ('{"stamp": "", "key_log": [1]}', "bad_value"),
            ('{"stamp": "", "key_log": [], "receipt": 1}', "bad_value"),
        ):
            with self.subTest(text=wrong[:40]), self.assertRaisesRegex(Refused, reason):
                read_stamp_file(wrong.encode())


OTHER_UNDER_ITS_ID = [ACCOUNT.device.sign("keylog+jws", {**ACCOUNT.first, "account": OTHER.id})]
"""A key log of the account's keys under the id of the other one."""


if __name__ == "__main__":
    unittest.main()
