"""Signed structures: JWS compact with `alg: "Ed25519"` (RFC 7515, RFC 9864)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .ed25519 import verifies
from .encoding import base64url, from_base64url, sha256
from .members import jwk_of, version
from .refused import Refused, need
from .strict_json import JsonObject, parse_json


@dataclass(frozen=True)
class Jws:
    """A signed structure of which the form is checked, and the signature is not."""

    text: str
    kid: str
    payload: JsonObject
    signature: bytes

    @property
    def hash(self) -> bytes:
        """SHA-256 of the ASCII text: the hash of an entry."""
        return sha256(self.text.encode("ascii"))


def read_jws(text: str, typ: str) -> Jws:
    """Reads a JWS with this `typ`, up to its version; see "Reading a signed structure"."""
    parts = text.split(".")
    need(len(parts) == 3 and "" not in parts[:2], "malformed", "a JWS has three parts")
    header_bytes, payload_bytes, signature = map(from_base64url, parts)
    header, payload = parse_json(header_bytes), parse_json(payload_bytes)
    for name in ("alg", "typ", "kid"):
        need(name in header, "missing_header", name)
    need(len(header) == 3, "extra_header")
    need(header["alg"] == "Ed25519", "wrong_alg")
    need(header["typ"] == typ, "wrong_typ")
    kid = header["kid"]
    if not isinstance(kid, str):
        raise Refused("bad_value", "kid is not a thumbprint")
    version(payload)
    return Jws(text, kid, payload, signature)


def thumbprint(key: bytes) -> str:
    """Returns the thumbprint of an Ed25519 key (RFC 7638)."""
    jwk = jwk_of(key)
    members = {name: jwk[name] for name in ("crv", "kty", "x")}
    return base64url(sha256(json.dumps(members, separators=(",", ":")).encode("ascii")))


def check_signature(jws: Jws, key: bytes) -> None:
    """Requires the signature of this key; raises `kid_mismatch` or `bad_signature`."""
    need(jws.kid == thumbprint(key), "kid_mismatch")
    signed = jws.text[: jws.text.rindex(".")].encode("ascii")
    need(verifies(key, signed, jws.signature), "bad_signature")
