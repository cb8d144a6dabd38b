"""Every case of the test kits, with a count of those that need ML-KEM."""

from __future__ import annotations

import sys
import unittest
from collections import Counter

from .kit import CHECKS, Outcome, run


class TestKit(unittest.TestCase):
    """The cases of each file agree."""

    counts: Counter[str] = Counter()

    def test_files(self) -> None:
        for name in CHECKS:
            for outcome in run(name):
                with self.subTest(file=name, id=outcome.id):
                    self.counts[outcome.says] += 1
                    if outcome.says != Outcome.SKIPPED:
                        self.assertEqual(outcome.says, Outcome.AGREES)

    @classmethod
    def tearDownClass(cls) -> None:
        agree, skipped = cls.counts[Outcome.AGREES], cls.counts[Outcome.SKIPPED]
        print(f"{agree} cases agree, {skipped} skipped for want of ML-KEM", file=sys.stderr)
