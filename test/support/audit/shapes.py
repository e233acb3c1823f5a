"""Which members a record has, and of which type: `docs/audit-format.md` 2 and 6. Failures come in the order of its table."""

from canonical import LARGEST, bytes_of, decimal
from failure import Failure


class Integer:
    pass


class Text:
    """`values`: the only ones it may have. `size`: it is base64, of as many bytes where that is not null."""

    def __init__(self, values=None, base64=False, size=None):
        self.values = values
        self.base64 = base64
        self.size = size


TEXT = Text()
INTEGER = Integer()
BYTES = Text(base64=True)
HASH = Text(base64=True, size=32)


class Nullable:
    def __init__(self, of):
        self.of = of


class Anything:
    """An object of any members."""


class List:
    def __init__(self, of, may_be_empty=False):
        self.of = of
        self.may_be_empty = may_be_empty


class Object:
    """`name?` in `members` is a member that may be absent."""

    def __init__(self, members, least=0):
        self.required = {name: kind for name, kind in members.items() if not name.endswith("?")}
        optional = {name[:-1]: kind for name, kind in members.items() if name.endswith("?")}
        self.members = {**self.required, **optional}
        self.least = least


class Exactly:
    """A number of one value."""

    def __init__(self, value):
        self.value = value


NULLABLE = Nullable(TEXT)
FILTER = Object(dict.fromkeys(["actor?", "approval_id?", "mailbox_id?", "outcome?", "request_id?", "resource?", "type?"], TEXT), 1)
HEADER = Object({
    "approval_id?": TEXT, "checkpoint": TEXT, "created_at": TEXT, "created_by": TEXT, "epoch": INTEGER,
    "filter": Nullable(FILTER), "format": TEXT, "from_seq": INTEGER, "keys": List(TEXT, may_be_empty=True),
    "kind": Text(["export", "evidence"]), "mode": Text(["complete", "skeleton", "sparse"]), "origin": TEXT,
    "request_id": TEXT, "t": TEXT, "to_seq": INTEGER, "trail": TEXT,
})
LINE = Object({
    "actor": Object(dict.fromkeys(["id", "session_id", "token_id", "type"], NULLABLE)), "approval_id?": TEXT,
    "causation_id": NULLABLE, "correlation_id": NULLABLE, "id": TEXT, "mailbox_id?": TEXT, "occurred_at": NULLABLE,
    "request_id": NULLABLE, "revision": TEXT, "salt?": Text(["none"]), "schema": Nullable(INTEGER), "seq": INTEGER,
    "stream": TEXT, "surface": NULLABLE, "trail": TEXT, "type": TEXT, "v": Exactly(1),
})
OPENED = Object({"at": TEXT, "salt?": BYTES, "text": TEXT})
SHOWN = Object({
    "body": Anything(), "erased?": List(TEXT), "line": LINE, "opened?": List(OPENED), "salt": BYTES, "t": TEXT,
})
HIDDEN = Object({"body_hash": HASH, "line": LINE, "t": TEXT})
COVER = Object({"from": INTEGER, "hash": HASH, "level": INTEGER, "t": TEXT})
CHECKPOINT = Object({"note": TEXT, "t": TEXT})
STAMP = Object({"kind": TEXT, "size": INTEGER, "t": TEXT, "token": BYTES})
CONTENT_TEXT = Object({"name": TEXT, "sha256": TEXT, "t": TEXT, "text": TEXT})
CONTENT_BYTES = Object({"base64": BYTES, "name": TEXT, "sha256": TEXT, "t": TEXT})
TRAILER = Object({"covered": INTEGER, "lines": INTEGER, "public_only": INTEGER, "sha256": TEXT, "t": TEXT})

SHAPES = {
    "header": lambda record: HEADER,
    "line": lambda record: HIDDEN if "body_hash" in record else SHOWN,
    "cover": lambda record: COVER,
    "checkpoint": lambda record: CHECKPOINT,
    "stamp": lambda record: STAMP,
    "content": lambda record: CONTENT_BYTES if "base64" in record else CONTENT_TEXT,
    "trailer": lambda record: TRAILER,
}


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_of_type(value, kind):
    if isinstance(kind, Nullable):
        return value is None or _is_of_type(value, kind.of)
    if isinstance(kind, Text):
        return isinstance(value, str) and (kind.values is None or value in kind.values)
    if isinstance(kind, Exactly):
        return _is_number(value) and value == kind.value
    if isinstance(kind, List):
        return isinstance(value, list) and (kind.may_be_empty or value != []) and all(_is_of_type(each, kind.of) for each in value)
    if isinstance(kind, Integer):
        return _is_number(value)
    return isinstance(value, dict) and (isinstance(kind, Anything) or _has_members(value, kind))


def _has_members(value, kind):
    return (
        kind.required.keys() <= value.keys() <= kind.members.keys()
        and len(value) >= kind.least
        and all(_is_of_type(each, kind.members[name]) for name, each in value.items())
    )


def _visit(value, kind, on_leaf):
    """Calls `on_leaf` with each integer and text that is there."""
    if isinstance(kind, Nullable):
        if value is not None:
            _visit(value, kind.of, on_leaf)
    elif isinstance(kind, List):
        for each in value:
            _visit(each, kind.of, on_leaf)
    elif isinstance(kind, Object):
        for name, each in value.items():
            _visit(each, kind.members[name], on_leaf)
    else:
        on_leaf(value, kind)


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _expect_integer(value, kind):
    if isinstance(kind, Integer) and not is_integer(value):
        raise Failure("number_invalid", f"{str(value)[:40]} is no integer from 0 to 2^53 - 1")


def _expect_base64(value, kind):
    if isinstance(kind, Text) and kind.base64:
        bytes_of(value, kind.size)


def expect_shape(record):
    """Throws unless the record has exactly the members of its kind."""
    name = record.get("t") if isinstance(record, dict) else None
    shape = SHAPES.get(name) if isinstance(name, str) else None
    if shape is None:
        raise Failure("member_unknown", "no object with a known `t`")
    kind = shape(record)
    if not _has_members(record, kind):
        raise Failure("member_unknown", f"a {name} with other members, types or values than its own")
    _visit(record, kind, _expect_integer)
    if name == "line":
        decimal(record["line"]["revision"])
    _visit(record, kind, _expect_base64)
