"""Makes stamps and what they need, so that another implementation can verify them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from countersign.account import account_of
from countersign.encoding import ZEROS, base64url, sha256
from countersign.ids import DEVICE, STAMP, id_text
from countersign.jws import thumbprint
from countersign.members import PublicKeys, jwk_of

AT = 1_767_225_600


@dataclass(frozen=True)
class Signer:
    """A device or a server with a signing key."""

    seed: bytes

    @property
    def key(self) -> Ed25519PrivateKey:
        """The private key."""
        return Ed25519PrivateKey.from_private_bytes(self.seed)

    @property
    def public(self) -> bytes:
        """The public key."""
        return self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def id(self) -> str:
        """A device id."""
        return id_text(DEVICE, sha256(self.seed)[:16])

    @property
    def keys(self) -> PublicKeys:
        """The keys of a device."""
        auth = Signer(sha256(b"auth" + self.seed)).public
        return PublicKeys(self.public, sha256(b"seal" + self.seed), auth)

    def sign(self, typ: str, payload: Mapping[str, object]) -> str:
        """Returns a signed structure."""
        header = {"typ": typ, "kid": thumbprint(self.public), "alg": "Ed25519"}
        return self.sign_texts(json.dumps(header), json.dumps(payload))

    def sign_texts(self, header: str, payload: str) -> str:
        """Returns a JWS of these texts, which need not be valid."""
        signed = f"{base64url(header.encode())}.{base64url(payload.encode('utf-8'))}"
        return f"{signed}.{base64url(self.key.sign(signed.encode('ascii')))}"


@dataclass(frozen=True)
class Account:
    """An account with one device."""

    device: Signer

    @property
    def salt(self) -> bytes:
        """The salt of the first entry."""
        return sha256(b"salt" + self.device.seed)

    @property
    def id(self) -> str:
        """The account id."""
        return account_of(self.device.keys, self.salt)

    @property
    def first(self) -> Mapping[str, object]:
        """The payload of the first entry."""
        keys, by = self.device.keys, self.device.id
        return {
            "v": 2,
            "account": self.id,
            "seq": 0,
            "prev": base64url(ZEROS),
            "op": "add",
            "device": by,
            "keys": {
                "sign": jwk_of(keys.sign),
                "seal": base64url(keys.seal),
                "auth": jwk_of(keys.auth),
            },
            "salt": base64url(self.salt),
            "by": by,
            "at": AT,
        }

    @property
    def log(self) -> list[str]:
        """The key log."""
        return [self.device.sign("keylog+jws", self.first)]

    def stamp(self, content: bytes) -> Mapping[str, object]:
        """Returns the payload of a stamp."""
        return {
            "v": 2,
            "jti": id_text(STAMP, sha256(content)[:16]),
            "iss": self.id,
            "dev": self.device.id,
            "sha256": base64url(sha256(content)),
            "len": len(content),
            "media_type": "text/plain",
            "iat": AT,
            "clock": {"source": "local", "offset_ms": 0},
            "key_log": {"seq": 0, "head": base64url(sha256(self.log[0].encode("ascii")))},
            "ctx": "größer als 17 €",
            "assurance": "device",
        }


def made_stamp(seed: bytes, content: bytes) -> Mapping[str, object]:
    """Returns a stamp file, the key of its receipt, and its root."""
    account, server = Account(Signer(seed)), Signer(sha256(b"server" + seed))
    stamp = account.device.sign("stamp+jws", account.stamp(content))
    receipt = {
        "v": 2,
        "jti": account.stamp(content)["jti"],
        "stamp_sha256": base64url(sha256(stamp.encode("ascii"))),
        "received_at": AT + 3,
        "key_status": "active",
        "assurance": "organisation",
    }
    return {
        "stamp": stamp,
        "key_log": account.log,
        "receipt": server.sign("receipt+jws", receipt),
        "receipt_key": jwk_of(server.public),
        "root": sha256(account.log[0].encode("ascii")).hex(),
    }
