"""JSON of signed structures: UTF-8, no name twice, plain integers, at most 8 levels.

The json module of Python is not used: it keeps the last of two members of one name, reads NaN,
numbers of any size and halves of surrogate pairs, and its errors depend on the depth of the stack.
"""

from __future__ import annotations

import re
from typing import Union

from .refused import Refused, need

Json = Union[str, int, bool, None, "list[Json]", "JsonObject"]
JsonObject = dict[str, Json]

DEEPEST = 8
LARGEST = 2**53 - 1

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_HEX = re.compile(r"[0-9A-Fa-f]{4}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<more>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")
_ESCAPES = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def is_well_formed(text: str) -> bool:
    """Returns whether the text has no half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def parse_json(data: bytes) -> JsonObject:
    """Reads an object.

    Raises Refused `bad_utf8`, `bad_json`, `duplicate_member`, `too_deep`, `lone_surrogate`, or
    `bad_value` for a number that is not a plain integer; of several faults the first in the text.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("bad_utf8") from None
    reader = _Reader(text)
    root = reader.value(0)
    reader.space()
    need(reader.at == len(text), "bad_json", "characters after the object")
    if not isinstance(root, dict):
        raise Refused("bad_json", "the root is not an object")
    return root


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        if found is not None:
            self.at = found.end()

    def next(self) -> str:
        """Returns the character at the place, or nothing at the end."""
        return self.text[self.at : self.at + 1]

    def value(self, level: int) -> Json:
        self.space()
        first = self.next()
        if first in ("{", "["):
            need(level <= DEEPEST, "too_deep")
            self.at += 1
            return self.members(level) if first == "{" else self.items(level)
        if first == '"':
            return self.string()
        for word, meaning in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return meaning
        return self.number()

    def members(self, level: int) -> JsonObject:
        found: JsonObject = {}
        self.space()
        if self.next() == "}":
            self.at += 1
            return found
        while True:
            self.space()
            need(self.next() == '"', "bad_json")
            name = self.string()
            need(name not in found, "duplicate_member", name)
            self.space()
            need(self.next() == ":", "bad_json")
            self.at += 1
            found[name] = self.value(level + 1)
            if self.ends("}"):
                return found

    def items(self, level: int) -> list[Json]:
        found: list[Json] = []
        self.space()
        if self.next() == "]":
            self.at += 1
            return found
        while True:
            found.append(self.value(level + 1))
            if self.ends("]"):
                return found

    def ends(self, bracket: str) -> bool:
        """Passes a comma or the bracket, and returns whether it was the bracket."""
        self.space()
        found = self.next()
        need(found in (",", bracket), "bad_json")
        self.at += 1
        return found == bracket

    def string(self) -> str:
        parts: list[str] = []
        self.at += 1
        while True:
            plain = _PLAIN.match(self.text, self.at)
            if plain is not None:
                parts.append(plain.group())
                self.at = plain.end()
            stop = self.next()
            self.at += 1
            if stop == '"':
                break
            need(stop == "\\", "bad_json", "a string does not end, or has a control character")
            parts.append(self.escaped())
        text = "".join(parts)
        # Python joins no pairs that were written as two escapes.
        if not is_well_formed(text):
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        need(is_well_formed(text), "lone_surrogate")
        return text

    def escaped(self) -> str:
        letter = self.next()
        self.at += 1
        if letter == "u":
            digits = _HEX.match(self.text, self.at)
            if digits is None:
                raise Refused("bad_json")
            self.at = digits.end()
            return chr(int(digits.group(), 16))
        need(letter in _ESCAPES, "bad_json")
        return _ESCAPES[letter]

    def number(self) -> int:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            raise Refused("bad_json")
        self.at = found.end()
        digits = found.group()
        need(re.match("[0-9]", self.next()) is None, "bad_json", "a number begins with 0")
        need(found["more"] == "" and digits != "-0", "bad_value", "a number is no plain integer")
        # Python refuses to read integers of thousands of digits.
        need(len(digits) <= 17, "bad_value", "a number is too large")
        value = int(digits)
        need(-LARGEST <= value <= LARGEST, "bad_value", "a number is too large")
        return value
