"""Whether what stands where a secret is expected is one; what says little around it must look all the more like one."""

from __future__ import annotations

from functools import lru_cache

from memdir.store.secrets.tables import compiled, one_of

MAX_JUDGED = 100  # characters of a value that are looked at: more say nothing new and cost time
# How much the surroundings say. The less they say, the more a value must look like a secret by itself.
NEAR, SAID, ASSIGNED, STATED = range(4)
_MIN_LENGTH = {NEAR: 8, SAID: 6, ASSIGNED: 6, STATED: 3}


def is_value(value: str, level: int, *, human: bool) -> bool:
    """Whether `value`, standing where one is expected with certainty `level`, is a secret."""
    return _is_value(value[:MAX_JUDGED], level, human)


@lru_cache(maxsize=128)  # a text of nothing but `token=` asks for the same again and again
def _is_value(value: str, level: int, human: bool) -> bool:
    if len(value) < _MIN_LENGTH[level] or stands_for_one(value) or _is_reference(value):
        return False
    if level == STATED:
        return True
    bare = value.strip("!?#*$%&@")
    if bare.isdigit():
        return human and level == ASSIGNED
    if is_wordlike(bare):
        return human and level >= SAID and _is_easy_password(value)
    if not human and _is_identifier(bare):
        return False
    return level == ASSIGNED or _is_mixed(value, level, human=human)


def stands_for_one(value: str) -> bool:
    """Placeholders: `<token>`, `xxxx`, `changeme`, a variable to be filled in."""
    lower = value.lower()
    if one_of("placeholders").fullmatch(lower) or one_of("placeholder_parts").search(lower):
        return True
    if len(value) >= 8 and len(set(value)) <= 3:
        return True
    if any(len(run.group()) * 3 >= len(value) for run in compiled(r"(.)\1{5,}").finditer(value)):
        return True
    return bool(compiled(r"[\[{(<]|\$[{(]|\$[A-Za-z_]\w*$|%\w+%$|%[sd]$|#\{|@\{|![a-z]+$|&[a-z]+$|--").match(value))


def _is_reference(value: str) -> bool:
    """What names or finds a value without being one: code, paths, addresses, hashes that say so, dates, versions."""
    if compiled(
        r"[A-Za-z][\w+.-]*://|(?:op|vault|arn|ssm|env|file|urn|sha\d{1,3}|data|secretsmanager|keyring|projects)[:~/-]|SHA\d{1,3}:"
        r"|ssh-|AAAA[A-Z]\dNza|\$(?:2[aby]|argon2\w*|[156y]|apr1)\$|\{[A-Z]+\}|\d{4}-\d\d-\d\d|v?\d+(?:\.\d+)+(?:[-+.\w]*)$"
        r"|[^@\s]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,10}$|(?:~|\.{1,2})/|[A-Za-z]:\\"
    ).match(value):
        return True
    if compiled(
        r"\.(?:md|pyi?|[jt]sx?|mjs|json|ya?ml|toml|env|txt|css|html?|sh|go|rs|java|rb|php|c|h|cpp|lock|log|csv|sql|db|png|jpe?g"
        r"|svg|pdf|zip|t?gz|whl|parquet|pem|key|crt|conf|ini|cfg|com|net|org|io|dev|internal|local|app)(?::\d+|/.*)?$"
    ).search(value):
        return True
    call = compiled(r"([A-Za-z_][\w.]*)[\[(]").match(value)
    return bool(call and (is_wordlike(call[1]) or _is_identifier(call[1]))) or bool(
        compiled(r"[A-Z]{2,}\d?(?:_[A-Z]+\d?)+").fullmatch(value)
    )


def is_wordlike(value: str) -> bool:
    """Whether every part of `value` could be a word, a name or a number: "deploy-bot", "passwordReset", "us-east-1"."""
    return all(_is_word(part) for part in compiled(r"[-_./:,;@+=~\s|()\[\]{}]+").split(value))


def _is_word(part: str) -> bool:
    if len(part) <= 3 or part.isdigit():
        return True
    letters = part.rstrip("0123456789")
    if len(part) - len(letters) > 4 or not letters.isalpha():
        return False
    if len(letters) > 24 and letters[1:].islower():
        return False
    return not _is_scrambled(letters)


def _is_scrambled(value: str) -> bool:
    """Whether the case changes faster, or letters follow each other more strangely, than in words and names."""
    humps = compiled(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+").findall(value)
    letters = sum(map(len, humps))
    pair = one_of("rare_pairs", "(?={})")
    rare = sum(len(pair.findall(hump.lower())) for hump in humps)
    few, share = (2, 5) if len(humps) > 2 else (3, 4)  # names run words together, so a pair or two means less there
    return letters < 3 * len(humps) or (rare >= few and rare * share >= letters - len(humps))


def _is_identifier(value: str) -> bool:
    """Names of programs with digits inside: "OAuth2TokenProviderV3", "k8s-sealed-secret-v2"."""
    digits = sum(character.isdigit() for character in value)
    return digits <= 4 and not _is_scrambled(value) and bool(compiled(r"[A-Za-z][\w.-]*").fullmatch(value))


def _is_easy_password(value: str) -> bool:
    """A word with digits behind it, or four and more words that make no sentence."""
    if compiled(r"[A-Za-z]{4,}\d{1,4}[!?#*$%]{0,2}").fullmatch(value):
        return not one_of("technical", r"(?:{})\d{{1,4}}").match(value.lower())
    words = compiled(r"[ -]").split(value)
    return (
        len(words) >= 4
        and all(compiled(r"[a-z]{3,10}").fullmatch(word) for word in words)
        and not any(one_of("common").fullmatch(word) for word in words)
    )


def _is_mixed(value: str, level: int, *, human: bool) -> bool:
    """Whether `value` mixes kinds of characters as no word of a sentence does."""
    inner = value[1:-1]
    digit = any(character.isdigit() for character in value)
    cases = any(character.islower() for character in value) and any(character.isupper() for character in value[1:])
    symbol = any(character in "!$%^*#&?~+@" for character in inner)
    changes = len(compiled(r"(?<=\d)[A-Za-z]|(?<=[A-Za-z])\d").findall(value))
    scrambled = _is_scrambled(value)
    if level == NEAR:
        if compiled(r"[a-z]{2,10}_[A-Za-z0-9]+").fullmatch(value):
            return False  # "price_" and "req_" with something random: identifiers of other systems
        return (digit and cases and (symbol or (scrambled and changes >= 2))) or (symbol and cases and scrambled)
    if symbol and (digit or cases):
        return True
    if digit and cases and changes >= 2:
        return True
    if digit and changes >= 3 and (human or len(value) >= 16):
        return True
    return scrambled and len(value) >= (8 if digit else 10)
