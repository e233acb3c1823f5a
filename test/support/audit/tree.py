"""The Merkle tree of a trail as a stack of subtrees: `docs/audit-format.md` 4."""

from hashlib import sha256


def h(*parts):
    return sha256(b"".join(parts)).digest()


def leaf(line, body_hash):
    return h(b"\x00", line, body_hash)


class Tree:
    """Keeps one hash per level."""

    def __init__(self):
        self.size = 0
        self._stack = []

    def add(self, level, digest):
        """Adds a subtree; the caller has seen that it begins at `size` and is aligned."""
        self.size += 1 << level
        while self._stack and self._stack[-1][0] == level:
            _, lower = self._stack.pop()
            level, digest = level + 1, h(b"\x01", lower, digest)
        self._stack.append((level, digest))

    def root(self):
        if not self._stack:
            return h()
        joined = self._stack[-1][1]
        for _, digest in reversed(self._stack[:-1]):
            joined = h(b"\x01", digest, joined)
        return joined
