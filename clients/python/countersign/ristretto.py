"""ristretto255 (RFC 9496), for CPace.

Python integers do not run in constant time: a program that shares a machine with others may learn
something of a scalar from the time. Use this to check runs and vectors, not as a device.
"""

from __future__ import annotations

from .ed25519 import SQRT_M1, D, L, P, Point, add, times

_ONE_MINUS_D_SQ = (1 - D * D) % P
_D_MINUS_ONE_SQ = (D - 1) ** 2 % P


def _is_negative(value: int) -> bool:
    return value % P & 1 == 1


def _abs(value: int) -> int:
    value %= P
    return P - value if value & 1 else value


def _sqrt_ratio(u: int, v: int) -> tuple[bool, int]:
    """Returns whether u/v is a square, and the root of u/v or of SQRT_M1 u/v that is even."""
    u, v = u % P, v % P
    r = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    check = v * r * r % P
    correct = check == u
    flipped = check == (P - u) % P
    flipped_i = check == (P - u) * SQRT_M1 % P
    if flipped or flipped_i:
        r = r * SQRT_M1 % P
    return correct or flipped, _abs(r)


_INVSQRT_A_MINUS_D = _sqrt_ratio(1, -1 - D)[1]


def _sqrt_ad_minus_one() -> int:
    """Returns the root of a d - 1 that RFC 9496 section 4.1 names, the odd one."""
    root = _sqrt_ratio(-D - 1, 1)[1]
    return P - root


_SQRT_AD_MINUS_ONE = _sqrt_ad_minus_one()


def decode(data: bytes) -> Point | None:
    """Reads the canonical encoding of an element, or returns None."""
    s = int.from_bytes(data, "little")
    if len(data) != 32 or s >= P or _is_negative(s):
        return None
    ss = s * s % P
    u1, u2 = (1 - ss) % P, (1 + ss) % P
    u2_squared = u2 * u2 % P
    v = (-(D * u1 * u1) - u2_squared) % P
    was_square, root = _sqrt_ratio(1, v * u2_squared)
    x = _abs(2 * s * root * u2)
    y = u1 * root * root * u2 * v % P
    t = x * y % P
    if not was_square or _is_negative(t) or y == 0:
        return None
    return x, y, 1, t


def encode(point: Point) -> bytes:
    """Returns the encoding of an element."""
    x0, y0, z0, t0 = point
    u1, u2 = (z0 + y0) * (z0 - y0) % P, x0 * y0 % P
    root = _sqrt_ratio(1, u1 * u2 * u2)[1]
    den1, den2 = root * u1 % P, root * u2 % P
    z_inverse = den1 * den2 * t0 % P
    if _is_negative(t0 * z_inverse):
        x, y, den = y0 * SQRT_M1 % P, x0 * SQRT_M1 % P, den1 * _INVSQRT_A_MINUS_D % P
    else:
        x, y, den = x0, y0, den2
    if _is_negative(x * z_inverse):
        y = P - y
    return _abs(den * (z0 - y)).to_bytes(32, "little")


def from_uniform(data: bytes) -> Point:
    """Returns the element that 64 uniform bytes give."""
    halves = (data[:32], data[32:])
    first, second = (int.from_bytes(half, "little") & (1 << 255) - 1 for half in halves)
    return add(_map(first), _map(second))


def _map(t: int) -> Point:
    r = SQRT_M1 * t * t % P
    u = (r + 1) * _ONE_MINUS_D_SQ % P
    v = (-1 - r * D) * (r + D) % P
    was_square, s = _sqrt_ratio(u, v)
    c = P - 1
    if not was_square:
        s, c = (P - _abs(s * t)) % P, r
    n = (c * (r - 1) * _D_MINUS_ONE_SQ - v) % P
    w0, w1 = 2 * s * v % P, n * _SQRT_AD_MINUS_ONE % P
    w2, w3 = (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


def multiply(scalar: bytes, point: Point) -> bytes:
    """Returns the encoding of a multiple of an element."""
    return encode(times(int.from_bytes(scalar, "little") % L, point))


def multiply_checked(scalar: bytes, share: bytes) -> bytes | None:
    """Returns a multiple of a received element, or None if it has no form or is the identity."""
    point = decode(share)
    if point is None:
        return None
    result = multiply(scalar, point)
    return None if result == bytes(32) else result
