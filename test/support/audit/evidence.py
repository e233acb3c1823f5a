"""Evidence of one approval: `docs/audit-format.md` 9. The first failure is kept and thrown at the end."""

import re
from hashlib import sha256

from canonical import canonical, parse
from failure import Failure
from shapes import is_integer

DATE = re.compile(rb"date:", re.IGNORECASE)
KNOWN_CONTENTS = ("manifest", "message.eml", "policy.json", "preview.txt")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


def _is_time(value):
    return isinstance(value, str) and TIME.fullmatch(value) is not None


def _named_message(manifest):
    """What a manifest says is the hash of its message."""
    try:
        value = parse(manifest.decode())
    except (ValueError, RecursionError):
        return None
    return value.get("mime_sha256") if isinstance(value, dict) else None


def _undated(message):
    """The message without its Date field, and how many of them it had."""
    kept, found, at = [], 0, 0
    is_dropping = False
    while at < len(message):
        end = message.find(b"\n", at) + 1 or len(message)
        line = message[at:end]
        if line in (b"\r\n", b"\n"):
            break
        if line[:1] not in (b" ", b"\t"):
            is_dropping = DATE.match(line) is not None
            found += is_dropping
        if not is_dropping:
            kept.append(line)
        at = end
    return b"".join(kept) + message[at:], found


class Evidence:
    def __init__(self, approval_id, trail):
        self._approval_id = approval_id
        self._policy_stream = f"policy-{trail}"
        self._stream = "operation-opn_" + approval_id.removeprefix("chk_")
        self._failure = None
        self._next = 0
        self._request = None
        self._voters = set()
        self._approving = set()
        self._is_granted = False
        self._is_started = False
        self._frozen = []
        self._manifest = None
        self._named = None
        self._message = None
        self._policy = None
        self._decided = None
        self._policies = {}
        self._fresh_until = {}
        if not approval_id.startswith("chk_"):
            self._fail("revision_gap", "the id of something else")

    def _fail(self, code, detail):
        self._failure = self._failure or Failure(code, detail)

    def line(self, line, data):
        """`data`: an object; null where the body is hidden."""
        if line["type"] == "DraftFrozen" and line.get("approval_id") == self._approval_id and len(self._frozen) < 2:
            self._frozen.append(None if data is None else data.get("mime_sha256"))
        self._learn(line, data or {})
        if line["stream"] != self._stream:
            return
        if line["revision"] != str(self._next) or data is None:
            self._fail("revision_gap", f"revision {self._next} with its body is not there")
        self._next += 1
        step = getattr(self, "_on_" + line["type"], None)
        if step is not None and data is not None:
            step(line, data)

    def last_revision(self):
        return self._next - 1

    def _learn(self, line, data):
        """Takes note of policies, and of until when a person had given the password in a session."""
        if line["type"] == "PolicySet" and line["stream"] == self._policy_stream and is_integer(data.get("version")):
            self._policies[data["version"]] = sha256(canonical(data)).hexdigest()
        until = {"SessionStarted": "stepped_up_until", "SessionSteppedUp": "until"}.get(line["type"])
        if until is not None and line["stream"].startswith("session-") and _is_time(data.get(until)):
            self._fresh_until[line["stream"].removeprefix("session-")] = data[until]

    def _on_OperationDecided(self, line, data):
        if self._decided is None and "policy_version" in data:
            self._decided = data["policy_version"]

    def _expect_same_content(self, data):
        if self._request is None or data.get("content_hash") != self._request.get("content_hash"):
            self._fail("vote_hash", "it is about another content than the request")

    def _on_ApprovalRequested(self, line, data):
        if self._request is not None:
            self._fail("revision_gap", "two requests")
        self._request = data
        if not isinstance(data.get("content_hash"), str):
            self._fail("vote_hash", "a request without a hash")

    def _on_ApprovalVoteCast(self, line, data):
        self._expect_same_content(data)
        if self._is_started:
            self._fail("vote_after_commit", "a vote after the commit began")
        voter = line["actor"]["id"]
        if voter in self._voters:
            self._fail("vote_repeated", "a second vote of the same actor")
        self._voters.add(voter)
        until = self._fresh_until.get(line["actor"]["session_id"])
        if until is not None and not (_is_time(line["occurred_at"]) and line["occurred_at"] <= until):
            self._fail("vote_not_fresh", "a vote after the time for which the password counted")
        if voter is not None and data.get("decision") == "approve":
            self._approving.add(voter)

    def _on_ApprovalGranted(self, line, data):
        self._is_granted = True
        terms = (self._request or {}).get("terms")
        quorum = terms.get("quorum") if isinstance(terms, dict) else None
        by_quorum = data.get("by") == "quorum" and is_integer(quorum) and 1 <= quorum <= len(self._approving)
        by_policy = data.get("by") == "policy" and is_integer(quorum) and quorum == 0
        if not by_quorum and not by_policy:
            self._fail("quorum_unmet", "granted with fewer votes than its quorum")

    def _on_CommitStarted(self, line, data):
        self._expect_same_content(data)
        self._is_started = True
        if not self._is_granted:
            self._fail("quorum_unmet", "begun without a grant")

    def content(self, name, content):
        if name == "manifest":
            self._manifest = sha256(content).hexdigest()
            self._named = _named_message(content)
        if name == "policy.json":
            self._policy = sha256(content).hexdigest()
        if name == "message.eml":
            undated, dates = _undated(content)
            self._message = sha256(undated).hexdigest() if dates <= 1 else "more than one Date"

    def conclude(self):
        if self._request is None:
            self._fail("revision_gap", "no request")
        elif self._manifest not in (None, self._request.get("content_hash")):
            self._fail("content_mismatch", "the manifest is not the requested one")
        if self._message is not None and self._frozen != [self._message]:
            self._fail("content_mismatch", "the message is not the frozen one")
        if self._message is not None and self._manifest is not None and self._named != self._message:
            self._fail("content_mismatch", "the manifest names another message")
        if self._policy is not None and not (is_integer(self._decided) and self._policies.get(self._decided) == self._policy):
            self._fail("content_mismatch", "the policy is not the one that decided")
        if self._failure is not None:
            raise self._failure
