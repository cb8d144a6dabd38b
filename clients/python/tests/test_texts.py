"""Where Python's tables of Unicode end."""

from __future__ import annotations

import unicodedata
import unittest

from countersign.codes import purpose_shown
from countersign.refused import Refused


class TestPurpose(unittest.TestCase):
    """Purposes with characters that this Python does not define."""

    def test_an_undefined_character_is_refused(self) -> None:
        undefined = next(
            chr(code) for code in range(0x378, 0x110000) if unicodedata.category(chr(code)) == "Cn"
        )
        with self.assertRaisesRegex(Refused, "unknown_character"):
            purpose_shown(f"pay 17 {undefined}")

    def test_a_noncharacter_is_dropped(self) -> None:
        self.assertEqual(purpose_shown("pay\ufdd0\uffff 17\U0010ffff"), "pay17")


if __name__ == "__main__":
    unittest.main()
