"""Which keys are trusted, and who signed the checkpoints: `docs/audit-format.md` 7.

Failures are kept and thrown at the end, as the document says; the first one counts.
"""

from canonical import decimal, bytes_of
from failure import Failure
from notes import GATEWAY, cosigned_at, key_id, origin_of_name, read_note, read_origin, read_vkey, signed_by
from shapes import is_integer

ROTATION = "mailbox-gateway/audit-key/v1"


class Trust:
    """`keys` and `witnesses` are vkeys given from outside, `doubts` pairs of a key id in hex and a time in seconds."""

    def __init__(self, checkpoint, keys, witnesses, doubts):
        self._header = checkpoint
        self._is_asked = len(keys) > 0
        self._witnesses = witnesses
        self._doubts = doubts
        self._failure = None
        self._pending = {}
        self._signers = {}
        self._unsigned = []
        self._revoked = {}
        self.cosigned = {}
        self.header_signers = set()
        # Public key to the time since when it is in doubt, or None.
        self._trusted = {each.public: None for each in keys if self._is_of_trail(each.name)}
        for each in keys:
            if each.public in self._trusted:
                self._trusted[each.public] = self._doubt_of(each.public, each.name, self._trusted[each.public])
        self._attempt(self._judge_header)

    def _is_of_trail(self, name):
        origin = origin_of_name(name)
        return origin is not None and origin.is_beside(self._header.origin)

    def _doubt_of(self, public, name, inherited=None):
        names = {name, self._header.origin_text, *(each.name for each in self._header.note.signatures)}
        ids = {key_id(each, public).hex() for each in names}
        times = [time for doubted, time in self._doubts if doubted in ids]
        return min([*times, *([] if inherited is None else [inherited])], default=None)

    def _attempt(self, step, *details):
        try:
            step(*details)
        except Failure as failure:
            self._failure = self._failure or failure

    def _publics_of(self, signature, candidates):
        if not self._is_of_trail(signature.name):
            return []
        return [each for each in candidates if key_id(signature.name, each) == signature.key_id]

    def _signers_of(self, note, candidates):
        """The candidates with a valid signature. Throws where one of them has another."""
        if note.repeats_a_key():
            raise Failure("signature_invalid", "two signature lines of one key")
        signers = set()
        for signature in note.signatures:
            named = self._publics_of(signature, candidates)
            valid = {public for public in named if signed_by(note, signature, public)}
            if named and not valid:
                raise Failure("signature_invalid", f"the signature of {signature.name!r}")
            signers |= valid
        return signers

    def _judge_witnesses(self, note):
        times = {}
        for signature in note.signatures:
            named = [each for each in self._witnesses if (each.name, each.key_id) == (signature.name, signature.key_id)]
            valid = {each.public: cosigned_at(note, signature, each.public) for each in named}
            if named and all(time is None for time in valid.values()):
                raise Failure("signature_invalid", f"the signature of the witness {signature.name!r}")
            times.update({public: time for public, time in valid.items() if time is not None})
        return times

    def _judge_header(self):
        note = self._header.note
        if self._is_asked:
            self.header_signers = self._signers_of(note, self._trusted)
        self.cosigned = self._judge_witnesses(note)

    def _trust_pending(self):
        self._trusted.update(self._pending)
        self._pending = {}
        self.header_signers = self._signers_of(self._header.note, self._trusted)

    def inner(self, checkpoint):
        """Takes note of a checkpoint record."""
        if self._is_asked:
            self._attempt(self._judge_inner, checkpoint)
        if self._witnesses:
            self._attempt(self._judge_witnesses, checkpoint.note)

    def _judge_inner(self, checkpoint):
        signers = self._signers_of(checkpoint.note, self._trusted)
        if signers and self._pending:
            self._trust_pending()
            signers = self._signers_of(checkpoint.note, self._trusted)
        if signers:
            signers = frozenset(signers)
            self._signers[signers] = max(checkpoint.size, self._signers.get(signers, 0))
        else:
            self._unsigned.append(checkpoint)

    def learn(self, line, data):
        """Takes note of a line about keys. `data` is that of its body."""
        if not self._is_asked:
            return
        if line["type"] == "AuditKeyRotated":
            self._attempt(self._rotate, line["seq"] - 1, data)
        if line["type"] == "AuditKeyRevoked":
            self._attempt(self._revoke, data)

    def _rotate(self, index, data):
        try:
            note, vkey = self._read_rotation(index, data)
            new = self._signers_of(note, [vkey.public])
            olds = self._signers_of(note, [each for each in self._trusted if each != vkey.public])
        except Failure as failure:
            raise Failure("rotation_unsigned", failure.detail) from failure
        if not new or not (olds or vkey.public in self._trusted):
            raise Failure("rotation_unsigned", "not signed by the new key and a trusted one")
        if vkey.public in self._trusted:
            return
        inherited = [self._trusted[each] for each in olds if self._trusted[each] is not None]
        self._pending[vkey.public] = self._doubt_of(vkey.public, vkey.name, min(inherited, default=None))
        if self.header_signers:
            self._trust_pending()

    def _read_rotation(self, index, data):
        text = data.get("note")
        note = read_note(text if isinstance(text, str) else "", 5)
        title, origin, size, root, added = note.lines
        bytes_of(root, 32)
        vkey = read_vkey(added)
        is_beside = read_origin(origin).is_beside(self._header.origin) and self._is_of_trail(vkey.name)
        if title != ROTATION or vkey.kind != GATEWAY or not is_beside or decimal(size) > index:
            raise Failure("rotation_unsigned", "a note about something else")
        return note, vkey

    def _revoke(self, data):
        text, size = data.get("vkey"), data.get("size")
        if not isinstance(text, str) or not is_integer(size):
            raise Failure("key_revoked", "a revocation without a key or a size")
        try:
            public = read_vkey(text).public
        except Failure as failure:
            raise Failure("key_revoked", failure.detail) from failure
        self._revoked[public] = min(size, self._revoked.get(public, size))

    def _expect_unrevoked(self, signers, size):
        if signers and all(size > self._revoked.get(each, size) for each in signers):
            raise Failure("key_revoked", f"only revoked keys signed the checkpoint of size {size}")

    def _expect_unnamed(self, checkpoint):
        """No trusted key signed this one: a signature line of a revoked key counts unread."""
        for signature in checkpoint.note.signatures:
            if any(checkpoint.size > self._revoked[each] for each in self._publics_of(signature, self._revoked)):
                raise Failure("key_revoked", f"a revoked key signed the checkpoint of size {checkpoint.size}")

    def conclude(self):
        """Throws what is wrong with signatures."""
        if self._failure is not None:
            raise self._failure
        if not self._is_asked:
            return
        if not self.header_signers:
            raise Failure("signature_missing", "no trusted key signed the checkpoint")
        self._expect_unrevoked(self.header_signers, self._header.size)
        for signers, size in self._signers.items():
            self._expect_unrevoked(signers, size)
        for checkpoint in self._unsigned:
            self._expect_unnamed(checkpoint)

    def is_in_doubt(self):
        """No signature of a trusted key beyond doubt, and none that a witness saw before the doubt."""
        times = [self._trusted[each] for each in self.header_signers]
        if not times or None in times:
            return False
        return not any(seen < max(times) for seen in self.cosigned.values())
