"""Verifies an audit file record by record: `docs/audit-format.md` 6 and 8. Memory grows with the height of the tree, and with the number of checkpoints, contents, keys and erasures in the file."""

from hashlib import sha256

from canonical import bytes_of, parse, read_canonical
from evidence import KNOWN_CONTENTS, Evidence
from failure import Failure, Refused
from notes import read_checkpoint
from sealed import SealedTexts, expect_salts
from shapes import expect_shape
from stamps import imprint
from tree import Tree, h, leaf
from trust import Trust

FORMAT = "mailbox-gateway/audit/v1"
LONGEST = 8 * 1024 * 1024
HIGHEST = 53


class Records:
    """Reads a file once. `number` and `offset` are those of the record read last; `digest` is of the bytes before it."""

    def __init__(self, file):
        self._file = file
        self._hash = sha256()
        self._next = 0
        self.number = 0
        self.offset = 0
        self.digest = ""

    def read(self):
        """The bytes of the next record with its LF; empty at the end."""
        raw = self._file.readline(LONGEST + 1)
        self.digest = self._hash.hexdigest()
        self._hash.update(raw)
        self.number, self.offset = self.number + 1, self._next
        self._next += len(raw)
        return raw


def _expect_audit_file(raw):
    try:
        header = parse(raw.decode())
    except (ValueError, RecursionError):
        header = None
    if len(raw) > LONGEST and not raw.endswith(b"\n"):
        header = None
    if not isinstance(header, dict) or header.get("t") != "header" or header.get("format") != FORMAT:
        raise Refused("not_audit_file", "the first record is no header of this format")


def _read_record(raw):
    if not raw.endswith(b"\n") or raw.endswith(b"\r\n"):
        raise Failure("encoding_invalid", "no LF, a CR before it, or more than 8 MiB")
    try:
        text = raw[:-1].decode()
    except UnicodeDecodeError as error:
        raise Failure("encoding_invalid", "no UTF-8") from error
    record = read_canonical(text)
    texts = _texts_of(record)
    for name, inner in texts.items():
        record[name] = read_canonical(inner) if isinstance(inner, str) else None
    expect_shape(record)
    return record, {name: inner.encode() for name, inner in texts.items()}


def _texts_of(record):
    """The members of a line record that hold canonical JSON themselves."""
    if not isinstance(record, dict) or record.get("t") != "line":
        return {}
    return {name: record[name] for name in ("line", "body") if name in record}


class Verifier:
    """`asked`: keys, witnesses, doubts, known notes, quorum and requirements, from outside."""

    def __init__(self, file, asked):
        self.records = Records(file)
        self.header = None
        self.checkpoint = None
        self.trust = None
        self.counts = {"lines": 0, "public_only": 0, "covered": 0}
        self.stamps = 0
        self._asked = asked
        self._tree = Tree()
        self._texts = SealedTexts()
        self._evidence = None
        self._names = set()
        self._raw = {}
        self._last_size = -1
        self._epoch = 1
        self._stamped = {}
        self._shortages = set()
        self._has_ended = False

    def run(self):
        """Throws a Failure or Refused, or returns the codes of what is not shown."""
        raw = self.records.read()
        _expect_audit_file(raw)
        header, _ = _read_record(raw)
        self._begin(header)
        while raw := self.records.read():
            record, self._raw = _read_record(raw)
            if self._has_ended:
                raise Failure("record_position", "a record after the trailer")
            getattr(self, "_on_" + record["t"])(record)
        if not self._has_ended:
            raise Failure("record_position", "no trailer")
        return self._shortages

    def of_approval(self):
        return {} if self._evidence is None else {"revision": self._evidence.last_revision()}

    def _begin(self, header):
        evidence = header["kind"] == "evidence"
        if ("approval_id" in header) != evidence or (evidence and header["mode"] != "sparse"):
            raise Failure("member_unknown", "`approval_id`, `kind` and `mode` do not agree")
        checkpoint = read_checkpoint(header["checkpoint"])
        for member, expected in (("origin", checkpoint.origin_text), ("trail", checkpoint.origin.trail), ("epoch", checkpoint.origin.epoch)):
            if header[member] != expected:
                raise Failure(f"{member}_mismatch", "the header names another than its checkpoint")
        self._expect_filter(header["filter"], header["mode"])
        first, last = header["from_seq"], header["to_seq"]
        if not 1 <= first <= last + 1 or last > checkpoint.size:
            raise Failure("range_invalid", f"{first} to {last} of {checkpoint.size}")
        self.header, self.checkpoint = header, checkpoint
        self._evidence = Evidence(header["approval_id"], header["trail"]) if evidence else None
        self._keep_for_stamps(checkpoint)
        self.trust = Trust(checkpoint, self._asked.keys, self._asked.witnesses, self._asked.doubts)
        for known in self._asked.known:
            if not known.origin.is_beside(checkpoint.origin):
                self._shortages.add("known_note_not_covered")
            elif known.size > checkpoint.size:
                raise Failure("known_note_mismatch", f"a note of size {known.size} is known, the file ends at {checkpoint.size}")
        self._compare_known()

    def _expect_filter(self, filters, mode):
        names = set(filters or ())
        is_hidden = mode == "skeleton" and names & {"outcome", "resource"}
        if (mode == "complete" and names) or (mode == "skeleton" and not names) or is_hidden:
            raise Failure("filter_not_public", f"this filter with `{mode}`")

    def _compare_known(self):
        for known in self._asked.known:
            if known.origin.is_beside(self.checkpoint.origin) and known.size == self._tree.size and known.root != self._tree.root():
                raise Failure("known_note_mismatch", f"the known note of size {known.size} has another root")

    def _keep_for_stamps(self, checkpoint):
        self._stamped.setdefault(checkpoint.size, set()).add(sha256(checkpoint.note.whole).digest())

    def _expect_before_contents(self):
        if self._names:
            raise Failure("record_position", "it comes after a content")

    def _on_header(self, record):
        raise Failure("record_position", "a second header")

    def _on_line(self, record):
        line, body = record["line"], record.get("body")
        self._expect_before_contents()
        if line["trail"] != self.header["trail"]:
            raise Failure("trail_mismatch", "a line of another trail")
        if line["seq"] != self._tree.size + 1:
            raise Failure("seq_mismatch", f"seq {line['seq']} at index {self._tree.size}")
        if body is not None:
            expect_salts(record)
        if self._tree.size >= self.checkpoint.size:
            raise Failure("line_beyond_size", f"index {self._tree.size}")
        if body is not None:
            self._texts.check(record)
        hidden = bytes_of(record["body_hash"]) if body is None else h(bytes_of(record["salt"]), self._raw["body"])
        self._tree.add(0, leaf(self._raw["line"], hidden))
        self.counts["lines"] += 1
        self.counts["public_only"] += body is None
        self._compare_known()
        self._learn(line, body)
        self._expect_decidable(line)

    def _learn(self, line, body):
        self._texts.learn(line, body)
        data = None if body is None else body.get("data")
        if body is not None and not isinstance(data, dict):
            data = {}
        if data is not None:
            self.trust.learn(line, data)
        elif line["type"] == "AuditKeyRevoked":
            self._shortages.add("revocation_hidden")
        if self._evidence is not None:
            self._evidence.line(line, data)

    def _expect_decidable(self, line):
        """Older lines name no mailbox and no approval: whether they match a filter on these is open."""
        header = self.header
        if header["mode"] != "skeleton" or line.get("salt") != "none" or not header["from_seq"] <= line["seq"] <= header["to_seq"]:
            return
        others = [name for name, value in header["filter"].items() if (line["actor"]["id"] if name == "actor" else line.get(name)) != value]
        if others and all(name in ("approval_id", "mailbox_id") and name not in line for name in others):
            self._shortages.add("filter_older_lines")

    def _on_cover(self, record):
        begin, level, size = record["from"], record["level"], self.checkpoint.size
        self._expect_before_contents()
        if begin != 0 if level > HIGHEST else begin % (1 << level) != 0:
            raise Failure("cover_unaligned", f"from {begin} at level {level}")
        if begin != self._tree.size:
            raise Failure("cover_position", f"from {begin} at index {self._tree.size}")
        if level > HIGHEST or begin + (1 << level) > size:
            raise Failure("cover_beyond_size", f"level {level} at {begin} of {size}")
        end = begin + (1 << level)
        first, last = self.header["from_seq"] - 1, self.header["to_seq"] - 1
        if self.header["mode"] != "sparse" and max(begin, first) <= min(end - 1, last):
            raise Failure("cover_in_range", f"it hides {begin} to {end - 1}")
        if any(begin < known.size < end for known in self._asked.known):
            self._shortages.add("known_note_not_covered")
        self._tree.add(level, bytes_of(record["hash"]))
        self.counts["covered"] += end - begin
        self._compare_known()

    def _on_checkpoint(self, record):
        checkpoint = read_checkpoint(record["note"])
        self._expect_before_contents()
        if not checkpoint.origin.is_beside(self.checkpoint.origin):
            raise Failure("origin_mismatch", "a checkpoint of another trail")
        if not self._epoch <= checkpoint.origin.epoch <= self.checkpoint.origin.epoch:
            raise Failure("epoch_mismatch", "a checkpoint of a newer epoch, or of one before that of another before it")
        if checkpoint.size != self._tree.size or checkpoint.size <= self._last_size:
            raise Failure("inner_checkpoint_position", f"size {checkpoint.size} at index {self._tree.size}")
        if checkpoint.root != self._tree.root():
            raise Failure("inner_checkpoint_root", f"at size {checkpoint.size}")
        self._last_size, self._epoch = checkpoint.size, checkpoint.origin.epoch
        self._keep_for_stamps(checkpoint)
        self.trust.inner(checkpoint)

    def _on_stamp(self, record):
        token = bytes_of(record["token"])
        notes = self._stamped.get(record["size"], ())
        if record["kind"] != "rfc3161" or imprint(token) not in notes:
            raise Failure("stamp_mismatch", f"no stamp of a checkpoint of size {record['size']} before it")
        self.stamps += record["size"] == self.checkpoint.size

    def _on_content(self, record):
        name = record["name"]
        if self._evidence is None:
            raise Failure("record_position", "a content in an export")
        try:
            content = bytes_of(record["base64"]) if "base64" in record else record["text"].encode()
        except UnicodeEncodeError as error:
            raise Failure("content_mismatch", "a text with a lone surrogate") from error
        if name in self._names or sha256(content).hexdigest() != record["sha256"]:
            raise Failure("content_mismatch", "a name twice, or another hash")
        self._names.add(name)
        if name not in KNOWN_CONTENTS:
            self._shortages.add("content_unproven")
        self._evidence.content(name, content)

    def _on_trailer(self, record):
        if self._tree.size != self.checkpoint.size:
            raise Failure("size_mismatch", f"it ends at {self._tree.size} of {self.checkpoint.size}")
        if record != {**self.counts, "sha256": self.records.digest, "t": "trailer"}:
            raise Failure("trailer_mismatch", "a count or the hash")
        if self._tree.root() != self.checkpoint.root:
            raise Failure("root_mismatch", "the checkpoint has another root")
        self.trust.conclude()
        if self._evidence is not None:
            self._evidence.conclude()
        self._has_ended = True
        self._shortages |= {code for code, applies in self._what_is_not_shown() if applies}

    def _what_is_not_shown(self):
        asked = self._asked
        yield "no_key", not asked.keys
        yield "opened_unprovable", self._texts.is_unprovable
        yield "erasure_unproven", self._texts.unproven_erasures()
        yield "not_complete", "complete" in asked.required and self.header["mode"] == "sparse"
        cosigned = self.trust.cosigned.keys()
        is_met = all(policy.quorum.is_met(cosigned) for policy in asked.policies)
        yield "quorum_of_witnesses", len(cosigned) < asked.quorum or not is_met
        yield "stamp_missing", "stamp" in asked.required and self.stamps == 0
        yield "key_distrusted", self.trust.is_in_doubt()
