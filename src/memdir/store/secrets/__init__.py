"""Find secrets in a text, however they are written, and take them out (E5, O1).

The one scanner for doctor, extraction, dream and team sync. It says what kind of secret stands where and never hands
out a value. It does not prove that a value works, and it cannot tell a password that is a plain word from a word.
"""

from __future__ import annotations

from memdir.store.secrets.find import SecretMatch, beginning, find_secrets, new_secrets, redact, redact_parts

__all__ = ["SecretMatch", "beginning", "find_secrets", "new_secrets", "redact", "redact_parts"]
