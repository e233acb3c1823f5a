"""Verification of Ed25519 signatures as in RFC 8032 section 5.1.7, without the cofactor. Nothing secret is handled, so time does not matter."""

from hashlib import sha512

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
NEUTRAL = (0, 1, 1, 0)


def _recover_x(y, sign):
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if square == 0:
        return None if sign else 0
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P != 0:
        return None
    return P - x if x & 1 != sign else x


def _decode(encoded):
    number = int.from_bytes(encoded, "little")
    y = number & ((1 << 255) - 1)
    x = _recover_x(y, number >> 255)
    return None if x is None else (x, y, 1, x * y % P)


def _encode(point):
    x, y, z, _ = point
    inverse = pow(z, P - 2, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _add(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def _multiply(scalar, point):
    product = NEUTRAL
    while scalar > 0:
        if scalar & 1:
            product = _add(product, point)
        point = _add(point, point)
        scalar >>= 1
    return product


BASE = _decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def verifies(public_key, message, signature):
    """True for a valid signature."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    point = _decode(public_key)
    s = int.from_bytes(signature[32:], "little")
    if point is None or s >= ORDER:
        return False
    digest = sha512(signature[:32] + public_key + message).digest()
    k = int.from_bytes(digest, "little") % ORDER
    x, y, z, t = point
    negative = (P - x, y, z, P - t)
    return _encode(_add(_multiply(s, BASE), _multiply(k, negative))) == signature[:32]
