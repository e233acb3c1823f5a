"""A policy in the form of C2SP tlog-policy: which logs are trusted, and which witnesses must have signed (`docs/audit-format.md` 7)."""

from dataclasses import dataclass

from failure import Failure, Refused
from notes import GATEWAY, WITNESS, read_vkey

SHORTHANDS = {"any": lambda members: 1, "all": len}


@dataclass(frozen=True)
class Witness:
    public: bytes

    def is_met(self, cosigned):
        return self.public in cosigned


@dataclass(frozen=True)
class Group:
    least: int
    members: tuple

    def is_met(self, cosigned):
        return sum(member.is_met(cosigned) for member in self.members) >= self.least


class Policy:
    """`quorum` is met by a set of public keys that signed."""

    def __init__(self, text):
        self.keys = []
        self.witnesses = []
        self.quorum = None
        self._named = {"none": Group(0, ())}
        for line in text.split("\n"):
            words = line.split()
            if words and not words[0].startswith("#"):
                self._read(words)
        if self.quorum is None:
            raise Refused("usage", "a policy without a quorum")

    def _read(self, words):
        kind, *rest = words
        if kind == "log" and len(rest) in (1, 2):
            self.keys.append(vkey_of(rest[0], GATEWAY))
        elif kind == "witness" and len(rest) in (2, 3):
            vkey = vkey_of(rest[1], WITNESS)
            self.witnesses.append(vkey)
            self._name(rest[0], Witness(vkey.public))
        elif kind == "group" and len(rest) >= 3:
            self._name(rest[0], self._group(rest[1], rest[2:]))
        elif kind == "quorum" and len(rest) == 1 and self.quorum is None:
            self.quorum = self._find(rest[0])
        else:
            raise Refused("usage", f"a policy with the line {' '.join(words)!r}")

    def _group(self, least, names):
        members = tuple(map(self._find, names))
        if least in SHORTHANDS:
            return Group(SHORTHANDS[least](members), members)
        if not least.isdecimal() or not 1 <= int(least) <= len(members) or len(set(names)) < len(names):
            raise Refused("usage", f"a group with {least!r} of {len(members)}")
        return Group(int(least), members)

    def _name(self, name, member):
        if name in self._named:
            raise Refused("usage", f"the name {name!r} twice in a policy")
        self._named[name] = member

    def _find(self, name):
        if name not in self._named:
            raise Refused("usage", f"a policy without {name!r} before it is used")
        return self._named[name]


def vkey_of(text, kind):
    try:
        vkey = read_vkey(text)
    except (Failure, UnicodeError) as error:
        raise Refused("usage", f"no vkey: {error}") from error
    if vkey.kind != kind:
        raise Refused("usage", "a vkey of another kind")
    return vkey
