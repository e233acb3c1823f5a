"""Opened and erased texts of a body: `docs/audit-format.md` 3 and 6."""

import base64
import re
from hashlib import sha256

from canonical import bytes_of
from failure import Failure

PROVABLE = re.compile(r"sealed\.v2\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})\.[A-Za-z0-9_-]+")
OLDER = re.compile(r"sealed\.v1\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")
INDEX = re.compile(r"0|[1-9][0-9]{0,15}")
WRONG_ESCAPE = re.compile(r"~(?![01])")


# The last lines of owners whose key is destroyed with them, and how their streams begin.
LAST_LINES = {
    "InviteSettled": "invite-", "InviteEnded": "invite-", "OAuthClientDeleted": "oauthClient-",
    "SystemMailAttempted": "systemMail-", "SystemMailSkipped": "systemMail-",
}


def _step(value, token):
    if isinstance(value, dict) and token in value:
        return value[token]
    if isinstance(value, list) and INDEX.fullmatch(token) and int(token) < len(value):
        return value[int(token)]
    raise Failure("opened_at", "a pointer to nothing")


def _pointed(body, pointer):
    if (pointer != "" and not pointer.startswith("/")) or WRONG_ESCAPE.search(pointer):
        raise Failure("opened_at", "no JSON Pointer")
    for token in pointer.split("/")[1:]:
        body = _step(body, token.replace("~1", "/").replace("~0", "~"))
    return body


def _sealed(body, pointer):
    """The match of the sealed text there. One of `sealed.v1` has a single group."""
    text = _pointed(body, pointer)
    found = isinstance(text, str) and (PROVABLE.fullmatch(text) or OLDER.fullmatch(text))
    if not found:
        raise Failure("opened_at", "a pointer to no sealed text")
    return found


def _expect_commitment(expected, salt, text):
    try:
        committed = sha256(b"\x02" + salt + text.encode()).digest()
    except UnicodeEncodeError as error:
        raise Failure("opened_mismatch", "a text with a lone surrogate") from error
    if base64.urlsafe_b64encode(committed).decode().rstrip("=") != expected:
        raise Failure("opened_mismatch", "text and salt do not give the commitment")


class SealedTexts:
    """`is_unprovable`: a text of the older form was opened."""

    def __init__(self):
        self.is_unprovable = False
        self._claimed = set()
        self._erased = set()

    def unproven_erasures(self):
        return self._claimed - self._erased

    def learn(self, line, body):
        """Notes whose personal data a line says were erased."""
        data = body.get("data") if body is not None else None
        prefix = LAST_LINES.get(line["type"])
        is_last = line["type"] != "SystemMailAttempted" or (isinstance(data, dict) and data.get("next_at", "") is None)
        if prefix is not None and line["stream"].startswith(prefix) and is_last:
            self._erased.add(line["stream"].removeprefix(prefix))
        if line["type"] == "PersonalDataErased" and isinstance(data, dict) and isinstance(data.get("owner_id"), str):
            self._erased.add(data["owner_id"])

    def check(self, record):
        opened, erased = record.get("opened", []), record.get("erased", [])
        found = [_sealed(record["body"], each["at"]) for each in opened]
        for match, each in zip(found, opened):
            if (match.re is PROVABLE) != ("salt" in each):
                raise Failure("opened_at", "a salt beside an older text, or none beside a newer one")
        self._claimed.update([_sealed(record["body"], pointer)[1] for pointer in erased])
        for match, each in zip(found, opened):
            self._compare(match, each)
        pointers = [each["at"] for each in opened] + erased
        if len(set(pointers)) < len(pointers):
            raise Failure("erased_and_opened", "a pointer twice")

    def _compare(self, match, opened):
        if match.re is OLDER:
            self.is_unprovable = True
        else:
            _expect_commitment(match[2], bytes_of(opened["salt"]), opened["text"])


def expect_salts(record):
    """Salts are 16 bytes, and empty exactly where the line says so."""
    salt = bytes_of(record["salt"])
    expected = 0 if record["line"].get("salt") == "none" else 16
    of_texts = [bytes_of(each["salt"]) for each in record.get("opened", []) if "salt" in each]
    if len(salt) != expected or any(len(each) != 16 for each in of_texts):
        raise Failure("salt_invalid", "a salt of another length")
