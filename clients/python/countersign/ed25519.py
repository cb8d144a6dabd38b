"""Ed25519 as the protocol has it: canonical encodings of points of order exactly L.

`cryptography` verifies the equation of RFC 8032. It accepts points with a small part, which some
libraries refuse; so the points are checked here, where two verifiers could differ.
Public values only: this arithmetic does not run in constant time.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)

Point = tuple[int, int, int, int]
"""Extended coordinates (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z."""

IDENTITY: Point = (0, 1, 1, 0)


def add(p: Point, q: Point) -> Point:
    """Returns the sum of two points."""
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def double(p: Point) -> Point:
    """Returns twice the point."""
    a = p[0] * p[0] % P
    b = p[1] * p[1] % P
    c = 2 * p[2] * p[2] % P
    h = a + b
    e = h - (p[0] + p[1]) ** 2 % P
    g = a - b
    f = c + g
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(scalar: int, point: Point) -> Point:
    """Returns a multiple of the point."""
    result = IDENTITY
    for bit in bin(scalar)[2:]:
        result = double(result)
        if bit == "1":
            result = add(result, point)
    return result


def decode(data: bytes) -> Point | None:
    """Reads the canonical encoding of a point, or returns None."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    if len(data) != 32 or y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P != u:
        x = x * SQRT_M1 % P
        if v * x * x % P != u:
            return None
    if x == 0 and sign == 1:
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


@lru_cache(maxsize=4096)
def is_point(data: bytes) -> bool:
    """Returns whether the bytes are the canonical encoding of a point of order exactly L."""
    point = decode(data)
    if point is None or (point[0] == 0 and point[1] == 1):
        return False
    multiple = times(L, point)
    return multiple[0] == 0 and multiple[1] == multiple[2]


@lru_cache(maxsize=4096)
def verifies(public: bytes, message: bytes, signature: bytes) -> bool:
    """Returns whether the signature verifies under the public key, both in their one form."""
    if len(signature) != 64 or int.from_bytes(signature[32:], "little") >= L:
        return False
    if not is_point(public) or not is_point(signature[:32]):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
