"""Canonical JSON (RFC 8785, with lone surrogates as `\\udxxx`) and the texts of numbers and bytes: `docs/audit-format.md` 1 and 6."""

import base64
import json
import re
from json.encoder import encode_basestring

from failure import Failure

DEEPEST = 64
LARGEST = 2**53 - 1
SURROGATES = re.compile("[\ud800-\udfff]")
BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
DECIMAL = re.compile(r"0|[1-9][0-9]*")


def _refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def _integer(token):
    return int(token) if len(token) < 400 else float(token)


def parse(text):
    """The value of a JSON text. Throws ValueError, and RecursionError where it nests too deep to be read."""
    return json.loads(text, parse_int=_integer, parse_constant=_refuse_constant)


def _number(value):
    """As ECMAScript prints it. Throws where it is beyond a double."""
    if isinstance(value, int):
        if -LARGEST <= value <= LARGEST:
            return str(value)
        value = float(value)
    if value in (float("inf"), float("-inf")):
        raise OverflowError("beyond a double")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    point = len(whole) + int(power or 0) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    return sign + _place_point(digits, point)


def _place_point(digits, point):
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    power = f"e{point - 1:+d}"
    return digits[0] + ("." + digits[1:] if count > 1 else "") + power


def _utf16(name):
    return name.encode("utf-16-be", "surrogatepass")


def _sorted(names):
    return sorted(names) if all(map(str.isascii, names)) else sorted(names, key=_utf16)


def _write(value, depth, out):
    if isinstance(value, str):
        out.append(encode_basestring(value))
    elif value is None or isinstance(value, bool):
        out.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, (int, float)):
        out.append(_number(value))
    elif depth == DEEPEST:
        raise OverflowError("nests too deep")
    elif isinstance(value, dict):
        before = "{"
        for name in _sorted(value):
            out.append(before + encode_basestring(name) + ":")
            _write(value[name], depth + 1, out)
            before = ","
        out.append("{}" if before == "{" else "}")
    else:
        before = "["
        for item in value:
            out.append(before)
            _write(item, depth + 1, out)
            before = ","
        out.append("[]" if before == "[" else "]")


def canonical(value):
    """The canonical bytes of a value. Throws OverflowError where it has none."""
    out = []
    _write(value, 0, out)
    text = "".join(out)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def read_canonical(text):
    """The value of a canonical text."""
    try:
        value = parse(text)
        same = canonical(value) == text.encode()
    except (ValueError, OverflowError, RecursionError) as error:
        raise Failure("not_canonical", str(error)) from error
    if not same:
        raise Failure("not_canonical", "written again it has other bytes")
    return value


def bytes_of(text, size=None):
    """The bytes of base64. The alphabet is that of RFC 4648 section 4."""
    if not BASE64.fullmatch(text):
        raise Failure("base64_invalid", "length, alphabet or padding")
    decoded = base64.b64decode(text)
    if base64.b64encode(decoded).decode() != text:
        raise Failure("base64_invalid", "pad bits")
    if size is not None and len(decoded) != size:
        raise Failure("base64_invalid", f"{len(decoded)} bytes in place of {size}")
    return decoded


def decimal(text, least=0):
    """The integer of a decimal text."""
    if not DECIMAL.fullmatch(text) or len(text) > 16 or not least <= int(text) <= LARGEST:
        raise Failure("number_invalid", f"{text[:40]!r} in decimal")
    return int(text)
