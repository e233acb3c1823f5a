"""Signed notes, vkeys and origins: `docs/audit-format.md` 5."""

from dataclasses import dataclass
from hashlib import sha256

from canonical import bytes_of, decimal
from ed25519 import verifies
from failure import Failure

GATEWAY = 0x01
WITNESS = 0x04
DASH = "\u2014 "
MOST_SIGNATURES = 16


@dataclass(frozen=True)
class Origin:
    audit_name: str
    trail: str
    epoch: int

    def is_beside(self, other):
        """Of the same audit name and trail."""
        return (self.audit_name, self.trail) == (other.audit_name, other.trail)


@dataclass(frozen=True)
class Vkey:
    name: str
    key_id: bytes
    kind: int
    public: bytes


@dataclass(frozen=True)
class Signature:
    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True)
class Note:
    """A signed text. `message` is what a gateway's key signs."""

    message: bytes
    lines: tuple
    signatures: tuple
    whole: bytes

    def repeats_a_key(self):
        return len({(each.name, each.key_id) for each in self.signatures}) < len(self.signatures)


@dataclass(frozen=True)
class Checkpoint:
    origin_text: str
    origin: Origin
    size: int
    root: bytes
    note: Note


def key_id(name, public, kind=GATEWAY):
    return sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:4]


def _is_key_name(name):
    return name != "" and "+" not in name and min(name) > " "


def read_vkey(text):
    """Throws a Failure for what is no vkey of this format."""
    name, _, rest = text.partition("+")
    hex_id, _, encoded = rest.partition("+")
    key = bytes_of(encoded, 33)
    if not _is_key_name(name) or key[0] not in (GATEWAY, WITNESS):
        raise Failure("note_invalid", "the name or the kind of a vkey")
    vkey = Vkey(name, key_id(name, key[1:], key[0]), key[0], key[1:])
    if vkey.key_id.hex() != hex_id:
        raise Failure("note_invalid", "the key id of a vkey is not that of its key")
    return vkey


def read_origin(text):
    parts = text.rsplit("/", 2)
    if len(parts) < 3 or parts[0] == "" or parts[1] == "" or not _is_key_name(text):
        raise Failure("note_invalid", "the origin")
    return Origin(parts[0], parts[1], decimal(parts[2], least=1))


def origin_of_name(name):
    """The origin that a key name is; null for another name."""
    try:
        return read_origin(name)
    except Failure:
        return None


def _signature(line):
    name, space, encoded = line.removeprefix(DASH).partition(" ")
    if not line.startswith(DASH) or space == "" or not _is_key_name(name):
        raise Failure("note_invalid", "a signature line")
    decoded = bytes_of(encoded)
    if len(decoded) < 5:
        raise Failure("note_invalid", "a signature line without a signature")
    return Signature(name, decoded[:4], decoded[4:])


def read_note(text, count):
    """A note whose text has `count` lines."""
    try:
        whole = text.encode()
    except UnicodeEncodeError as error:
        raise Failure("note_invalid", "a lone surrogate") from error
    lines = text.split("\n")
    signed, signatures = lines[:count], lines[count + 1 : -1]
    if len(lines) < count + 3 or lines[count] != "" or lines[-1] != "":
        raise Failure("note_invalid", f"it is not {count} lines, an empty line and signature lines")
    if not 1 <= len(signatures) <= MOST_SIGNATURES:
        raise Failure("note_invalid", f"{len(signatures)} signature lines")
    message = "".join(f"{line}\n" for line in signed).encode()
    return Note(message, tuple(signed), tuple(map(_signature, signatures)), whole)


def read_checkpoint(text):
    note = read_note(text, 3)
    origin, size, root = note.lines
    return Checkpoint(origin, read_origin(origin), decimal(size), bytes_of(root, 32), note)


def signed_by(note, signature, public):
    return verifies(public, note.message, signature.signature)


def cosigned_at(note, signature, public):
    """The time in seconds of a valid cosignature; null for one that is not valid."""
    if len(signature.signature) != 72:
        return None
    seconds = int.from_bytes(signature.signature[:8], "big")
    message = f"cosignature/v1\ntime {seconds}\n".encode() + note.message
    return seconds if verifies(public, message, signature.signature[8:]) else None
