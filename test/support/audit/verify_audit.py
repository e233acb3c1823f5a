"""Verifies an audit file: `verify_audit.py FILE --key vkeys.txt …`. Written from `docs/audit-format.md` alone, so that two programs that share nothing read the same files."""

import sys

sys.dont_write_bytecode = True

import argparse
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from failure import Failure, Refused
from notes import GATEWAY, WITNESS, read_checkpoint
from policy import Policy, vkey_of
from verifier import Verifier

SHORTAGES = (
    "no_key",
    "opened_unprovable",
    "erasure_unproven",
    "revocation_hidden",
    "content_unproven",
    "filter_older_lines",
    "not_complete",
    "quorum_of_witnesses",
    "stamp_missing",
    "known_note_not_covered",
    "key_distrusted",
)


@dataclass(frozen=True)
class Asked:
    keys: tuple
    witnesses: tuple
    doubts: tuple
    known: tuple
    quorum: int
    policies: tuple
    required: frozenset


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        raise Refused("usage", message)


def _arguments():
    parser = Arguments(description="Verifies an audit file.", exit_on_error=False)
    parser.add_argument("file")
    parser.add_argument("--key", action="append", default=[], help="a file with a vkey per line")
    parser.add_argument("--known", action="append", default=[], help="a file with a checkpoint kept earlier")
    parser.add_argument("--witness", action="append", default=[], help="a vkey, or a file with one per line")
    parser.add_argument("--quorum", type=int, help="how many witnesses must have signed")
    parser.add_argument("--policy", action="append", default=[], help="a file as in C2SP tlog-policy")
    parser.add_argument("--require", action="append", default=[], choices=["complete", "witness", "stamp"])
    parser.add_argument("--distrust", action="append", default=[], help="key id in hex, @, a time (RFC 3339 or in seconds)")
    parser.add_argument("--json", action="store_true")
    return parser


def _text(path):
    try:
        return Path(path).read_bytes().decode()
    except (OSError, ValueError) as error:
        raise Refused("usage", f"{path}: {error}") from error


def _vkeys(text, kind):
    lines = [line.strip() for line in text.split("\n")]
    return tuple(vkey_of(line, kind) for line in lines if line != "" and not line.startswith("#"))


def _witnesses(given):
    return _vkeys(given if "+" in given and not Path(given).exists() else _text(given), WITNESS)


def _known(path):
    try:
        return read_checkpoint(_text(path))
    except Failure as failure:
        raise Refused("usage", f"{path}: {failure}") from failure


def _doubt(given):
    key_id, at, time = given.partition("@")
    try:
        seconds = int(time) if time.isdigit() else datetime.fromisoformat(time).timestamp()
        if at == "" or len(bytes.fromhex(key_id)) != 4:
            raise ValueError("it is not <key id>@<time>")
    except ValueError as error:
        raise Refused("usage", f"{given}: {error}") from error
    return key_id.lower(), seconds


def _asked(given):
    least = 1 if given.witness or "witness" in given.require else 0
    quorum = least if given.quorum is None else given.quorum
    if quorum < least:
        raise Refused("usage", "a quorum below 1")
    policies = [Policy(_text(path)) for path in given.policy]
    keys = [vkey for path in given.key for vkey in _vkeys(_text(path), GATEWAY)]
    witnesses = [vkey for each in given.witness for vkey in _witnesses(each)]
    return Asked(
        keys=(*keys, *(vkey for policy in policies for vkey in policy.keys)),
        witnesses=(*witnesses, *(vkey for policy in policies for vkey in policy.witnesses)),
        policies=tuple(policies),
        doubts=tuple(map(_doubt, given.distrust)),
        known=tuple(map(_known, given.known)),
        quorum=quorum,
        required=frozenset(given.require),
    )


def _shown(verifier):
    """What the result is about."""
    header = verifier.header
    names = ("approval_id", "kind", "mode", "filter", "from_seq", "to_seq", "origin", "trail", "epoch")
    about = {name: header[name] for name in names if name in header}
    counts = {**verifier.counts, "size": verifier.checkpoint.size, "witnesses": len(verifier.trust.cosigned), "stamps": verifier.stamps, **verifier.of_approval()}
    return {**about, **counts}


def _verify(given):
    asked = _asked(given)
    try:
        file = open(given.file, "rb")
    except OSError as error:
        raise Refused("unreadable", str(error)) from error
    with file:
        verifier = Verifier(file, asked)
        try:
            missing = verifier.run()
        except Failure as failure:
            records = verifier.records
            return {"exit": 1, "code": failure.code, "record": records.number, "offset": records.offset, "detail": failure.detail}
        except OSError as error:
            raise Refused("unreadable", str(error)) from error
    codes = [code for code in SHORTAGES if code in missing]
    result = {"exit": 3 if codes else 0, "code": codes[0] if codes else None, "record": None, "offset": None}
    return {**result, "not_shown": codes, "shown": _shown(verifier)}


def verify(arguments):
    """The result of a run with these arguments."""
    try:
        return _verify(_arguments().parse_args(arguments))
    except argparse.ArgumentError as error:
        refused = Refused("usage", str(error))
    except Refused as error:
        refused = error
    return {"exit": 2, "code": refused.code, "record": None, "offset": None, "detail": refused.detail}


def _in_words(result):
    if result["exit"] == 1:
        return f"Not proven: {result['code']} in record {result['record']} at byte {result['offset']}: {result['detail']}"
    if result["exit"] == 2:
        return f"Not verified: {result['code']}: {result['detail']}"
    shown = json.dumps(result["shown"])
    return f"Nothing is wrong, but not shown: {', '.join(result['not_shown'])}. {shown}" if result["exit"] else f"Proven: {shown}"


def main():
    arguments = sys.argv[1:]
    result = verify(arguments)
    print(json.dumps(result) if "--json" in arguments else _in_words(result))
    return result["exit"]


if __name__ == "__main__":
    sys.exit(main())
