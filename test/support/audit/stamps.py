"""The message imprint of an RFC 3161 TimeStampToken (DER). The signature of its authority is not verified."""

from failure import Failure

SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
TST_INFO = bytes.fromhex("2a864886f70d0109100104")
SHA_256 = bytes.fromhex("608648016503040201")
INTEGER, OCTETS, OID, SEQUENCE, SET, EXPLICIT = 0x02, 0x04, 0x06, 0x30, 0x31, 0xA0


def _length(der, at):
    first = der[at]
    if first < 0x80:
        return first, at + 1
    count = first - 0x80
    if not 1 <= count <= 4:
        raise ValueError("a length of another form")
    return int.from_bytes(der[at + 1 : at + 1 + count], "big"), at + 1 + count


def _items(der):
    """Each (tag, content) of a constructed value."""
    at = 0
    while at < len(der):
        tag = der[at]
        length, begin = _length(der, at + 1)
        at = begin + length
        if at > len(der):
            raise ValueError("it ends too early")
        yield tag, der[begin:at]


def _open(der, *tags):
    """The contents of the first items, which have these tags."""
    items = list(_items(der))
    if [tag for tag, _ in items[: len(tags)]] != list(tags):
        raise ValueError("other items")
    return [content for _, content in items[: len(tags)]]


def _expect(value, expected):
    if value != expected:
        raise ValueError("an object identifier of something else")


def _imprint(token):
    [content_info] = _open(token, SEQUENCE)
    kind, explicit = _open(content_info, OID, EXPLICIT)
    _expect(kind, SIGNED_DATA)
    [signed_data] = _open(explicit, SEQUENCE)
    _, _, encapsulated = _open(signed_data, INTEGER, SET, SEQUENCE)
    kind, explicit = _open(encapsulated, OID, EXPLICIT)
    _expect(kind, TST_INFO)
    [octets] = _open(explicit, OCTETS)
    [info] = _open(octets, SEQUENCE)
    _, _, message_imprint = _open(info, INTEGER, OID, SEQUENCE)
    algorithm, digest = _open(message_imprint, SEQUENCE, OCTETS)
    _expect(_open(algorithm, OID), [SHA_256])
    return digest


def imprint(token):
    """The SHA-256 that a token is about."""
    try:
        return _imprint(token)
    except (ValueError, IndexError) as error:
        raise Failure("stamp_mismatch", f"no TimeStampToken over SHA-256: {error}") from error
