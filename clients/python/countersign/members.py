"""The members of signed structures: which there are, and the form of each value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from .ed25519 import is_point
from .encoding import base64url, from_base64url
from .ids import id_bytes
from .refused import Refused, need
from .strict_json import LARGEST, Json, JsonObject

T = TypeVar("T")
Form = Callable[[Json], object]
"""Reads a value, or raises Refused."""


@dataclass(frozen=True)
class Place:
    """A place of a log: its number, and the hash of the entry there."""

    seq: int
    head: bytes


@dataclass(frozen=True)
class PublicKeys:
    """The public keys of a device; `seal` is the SHA-256 of its sealing key."""

    sign: bytes
    seal: bytes
    auth: bytes


def exactly(value: Json, names: Iterable[str]) -> JsonObject:
    """Returns an object with exactly these members."""
    if not isinstance(value, dict):
        raise Refused("bad_value", "an object was expected")
    by_name(value, names, names)
    return value


def by_name(found: JsonObject, known: Iterable[str], required: Iterable[str]) -> None:
    """Refuses members that are not known, then those that are missing."""
    for name in found:
        need(name in known, "unknown_member", name)
    for name in required:
        need(name in found, "missing_member", name)


def version(found: JsonObject) -> None:
    """Requires that `v` is 2, if it is there."""
    value = found.get("v", 2)
    # True equals 1 in Python: the type is compared too.
    need(type(value) is int and value == 2, "wrong_version")


def text(value: Json) -> str:
    """Reads a string."""
    if not isinstance(value, str):
        raise Refused("bad_value", "a string was expected")
    return value


def text_or_null(value: Json) -> str | None:
    """Reads a string or null."""
    return None if value is None else text(value)


def count(most: int = LARGEST, least: int = 0) -> Callable[[Json], int]:
    """Returns the form of an integer from `least` to `most`."""

    def form(value: Json) -> int:
        # A bool is an int in Python.
        if type(value) is not int or not least <= value <= most:
            raise Refused("bad_value", f"an integer from {least} to {most} was expected")
        return value

    return form


def count_or_null(value: Json) -> int | None:
    """Reads an integer from 0, or null."""
    return None if value is None else count()(value)


def one_of(*values: str, reason: str = "bad_value") -> Callable[[Json], str]:
    """Returns the form of a string that is one of these."""

    def form(value: Json) -> str:
        if not isinstance(value, str) or value not in values:
            raise Refused(reason, f"one of {', '.join(values)} was expected")
        return value

    return form


def octets(length: int) -> Callable[[Json], bytes]:
    """Returns the form of base64url with this number of bytes."""

    def form(value: Json) -> bytes:
        data = from_base64url(text(value))
        need(len(data) == length, "bad_value", f"{length} bytes were expected")
        return data

    return form


def an_id(prefix: str, reason: str = "bad_value") -> Callable[[Json], str]:
    """Returns the form of an id; `reason` is that of another text."""

    def form(value: Json) -> str:
        found = text(value)
        try:
            id_bytes(prefix, found)
        except Refused as refused:
            raise Refused(reason, refused.detail or refused.reason) from None
        return found

    return form


def public_key(value: Json) -> bytes:
    """Reads a JWK with exactly `kty`, `crv` and `x`, and returns the key."""
    jwk = exactly(value, ("kty", "crv", "x"))
    kind = (text(jwk["kty"]), text(jwk["crv"]))
    need(kind == ("OKP", "Ed25519"), "bad_key", "not an Ed25519 key")
    key = octets(32)(jwk["x"])
    need(is_point(key), "bad_key", "x is not a point of order L in its one encoding")
    return key


def jwk_of(key: bytes) -> dict[str, str]:
    """Returns a public key as a JWK."""
    return {"kty": "OKP", "crv": "Ed25519", "x": base64url(key)}


def public_keys(value: Json) -> PublicKeys:
    """Reads `keys` of a device."""
    found = exactly(value, ("sign", "seal", "auth"))
    return PublicKeys(
        public_key(found["sign"]), octets(32)(found["seal"]), public_key(found["auth"])
    )


def place(value: Json) -> Place:
    """Reads a place of a log."""
    found = exactly(value, ("seq", "head"))
    return Place(count()(found["seq"]), octets(32)(found["head"]))


def values(found: JsonObject, forms: Mapping[str, Form]) -> dict[str, object]:
    """Reads the value of each member that is there, in the order of `forms`."""
    return {name: form(found[name]) for name, form in forms.items() if name in found}


class Read:
    """The values of a structure after its form was checked."""

    def __init__(self, read: dict[str, object]) -> None:
        self._values = read

    def get(self, name: str, kind: type[T]) -> T:
        """Returns a value of this type, which the form guarantees."""
        value = self._values[name]
        assert isinstance(value, kind)
        return value

    def maybe(self, name: str, kind: type[T]) -> T | None:
        """Returns a value of this type, or None if the member is absent or null."""
        return self.get(name, kind) if self._values.get(name) is not None else None


def read_structure(
    found: JsonObject, forms: Mapping[str, Form], required: Iterable[str] | None = None
) -> Read:
    """Checks the names of the members of a structure, with `v`, and reads the others.

    Without `required`, every member must be there.
    """
    by_name(found, ("v", *forms), ("v", *(forms if required is None else required)))
    return Read(values(found, forms))
