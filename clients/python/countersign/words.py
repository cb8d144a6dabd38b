"""The list of 4,096 words, and what people type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import resources

from .encoding import sha256
from .refused import Refused, need
from .texts import is_letter, lowered

_SHA256 = "9777a12202c22b14201a9b9c19aebfbb693123686b1d6fab44a10c4968a34eb5"
_SHORTEST, _LONGEST = 4, 9


@lru_cache(maxsize=None)
def word_list() -> tuple[str, ...]:
    """Returns the list `en-4096`."""
    data = (resources.files(__package__) / "en-4096.txt").read_bytes()
    if sha256(data).hex() != _SHA256:
        raise RuntimeError("en-4096.txt is not the list of the protocol. Install it again.")
    return tuple(data.decode("ascii").splitlines())


@lru_cache(maxsize=None)
def _indices() -> dict[str, int]:
    return {word: index for index, word in enumerate(word_list())}


def indices_of(data: bytes, number: int) -> list[int]:
    """Returns the first 12-bit big-endian indices of the bytes."""
    bits = int.from_bytes(data, "big")
    return [bits >> len(data) * 8 - 12 * (at + 1) & 4095 for at in range(number)]


def words_of(indices: Sequence[int]) -> list[str]:
    """Returns the words with these indices."""
    return [word_list()[index] for index in indices]


def parse_words(typed: str, number: int) -> list[int]:
    """Returns the indices of the words typed.

    Raises Refused `unknown_word`, with the run of letters as its detail, or `word_count`.
    """
    runs = "".join(
        character if is_letter(character) else " " for character in lowered(typed, "NFKC")
    ).split(" ")
    found = [index for run in runs if run for index in _decode(run)]
    need(len(found) == number, "word_count", f"{len(found)} words, and {number} are wanted")
    return found


def _decode(run: str) -> list[int]:
    """Decodes words that are not separated: no word begins another."""
    found: list[int] = []
    at = 0
    while at < len(run):
        for length in range(_SHORTEST, _LONGEST + 1):
            index = _indices().get(run[at : at + length])
            if index is not None and at + length <= len(run):
                found.append(index)
                at += length
                break
        else:
            raise Refused("unknown_word", run)
    return found


def nearest(unknown: str, most: int = 3) -> list[str]:
    """Returns the words with the fewest changed letters, at most two, best first."""
    far = [(distance, word) for word in word_list() if (distance := _distance(unknown, word)) <= 2]
    return [word for _, word in sorted(far)[:most]]


def _distance(a: str, b: str) -> int:
    """Returns how many letters are added, removed or changed (Levenshtein)."""
    if abs(len(a) - len(b)) > 2:
        return 3
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a):
        above, row[0] = row[0], i + 1
        for j, other in enumerate(b):
            above, row[j + 1] = row[j + 1], min(
                row[j + 1] + 1, row[j] + 1, above + (letter != other)
            )
    return row[-1]
