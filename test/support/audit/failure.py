"""The two ways in which a verification ends early."""


class Failure(Exception):
    """Something in the file is wrong: exit 1. `code` is one of those in `docs/audit-format.md` 8."""

    def __init__(self, code, detail):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class Refused(Exception):
    """Nothing can be verified: exit 2."""

    def __init__(self, code, detail):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
