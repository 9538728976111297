"""The secret scanner: what it finds, what it leaves alone, what it takes out (E5, O1).

No secret stands in this file: each is drawn at random, character by character, when a test runs.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from re import _constants as regex
from re import _parser as regex_parser
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evals import secrets as secrets_eval
from memdir.errors import MemdirError
from memdir.store.secrets import SecretMatch, find_secrets, redact
from memdir.store.secrets import view as views
from memdir.store.secrets.refuse import harmless_name, secrets_in
from memdir.store.secrets.tables import one_of, rules, tried, tried_formats
from tests.timing import cpu_seconds

ALPHANUMERIC = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE64 = ALPHANUMERIC + "+/"


def drawn(length: int, alphabet: str = ALPHANUMERIC, *, seed: int = 0) -> str:
    """Random characters, at least one of them a digit and two of them capitals where the alphabet has such."""
    rng = random.Random(f"{length}{alphabet}{seed}")
    while True:
        text = "".join(rng.choice(alphabet) for _ in range(length))
        digits_are_fine = any(c.isdigit() for c in text) or not any(c.isdigit() for c in alphabet)
        capitals_are_fine = sum(c.isupper() for c in text) > 1 or not any(c.isupper() for c in alphabet)
        if digits_are_fine and capitals_are_fine:
            return text


def password(seed: int = 0) -> str:
    return f"{drawn(5, seed=seed)}{'!$%*#'[seed % 5]}{drawn(6, seed=seed + 1)}"


def github_token(seed: int = 0) -> str:
    return "ghp" + "_" + drawn(36, seed=seed)


def drawn_from(pattern: str, rng: random.Random) -> str:
    """A random text that the pattern matches."""
    return "".join(_drawn_part(op, value, rng) for op, value in regex_parser.parse(pattern))


def _drawn_part(op: object, value: object, rng: random.Random) -> str:
    if op is regex.LITERAL:
        return chr(value)
    if op is regex.IN:
        return rng.choice([character for item in value for character in _members(*item)])
    if op in (regex.MAX_REPEAT, regex.MIN_REPEAT):
        least, most, inner = value
        times = rng.randint(least, min(most, least + 4))
        return "".join(_drawn_part(*part, rng) for _ in range(times) for part in inner)
    if op is regex.SUBPATTERN:
        return "".join(_drawn_part(*part, rng) for part in value[3])
    if op is regex.BRANCH:
        return "".join(_drawn_part(*part, rng) for part in rng.choice(value[1]))
    return ""  # look-arounds


def _members(op: object, value: object) -> str:
    if op is regex.LITERAL:
        return chr(value)
    if op is regex.RANGE:
        return "".join(map(chr, range(value[0], value[1] + 1)))
    assert value is regex.CATEGORY_DIGIT
    return string.digits


def is_taken_out(text: str, value: str) -> bool:
    """Whether no four characters of the value in a row are left."""
    left = re.sub(r"\[removed: [a-z0-9-]+\]", "\0", redact(text))
    return not any(value[place : place + 4] in left for place in range(len(value) - 3))


# Formats


@pytest.mark.parametrize(("kind", "pattern"), [(row[0], row[2]) for row in rules("formats")])
def test_every_format_of_the_table_is_found(kind: str, pattern: str) -> None:
    rng = random.Random(pattern)
    surroundings = [
        "{}",
        "Use {} for the nightly job.",
        'he said "take {}"',
        "```\n{}\n```\n",
        "KEY={}",
        "(`{}`), then",
    ]
    texts = [place.format(drawn_from(pattern, rng)) for place in surroundings]
    assert sum(bool(find_secrets(text)) for text in texts) >= len(texts) - 1  # chance may draw a word


def test_the_table_is_wide_and_its_literals_are_in_what_its_patterns_match() -> None:
    assert len({kind for kind, _, _ in rules("formats")}) > 200
    for _, literals, pattern in rules("formats"):
        token = drawn_from(pattern, random.Random(pattern))
        assert any(literal in token for literal in literals), pattern


TABLES = ("formats", "places", "announcers")
LITERALS = sorted({one for table in TABLES for _, literals, _ in rules(table) for one in literals if one})


@pytest.mark.parametrize("table", ["places", "announcers"])  # formats have a way of their own, below
@given(st.lists(st.sampled_from(LITERALS) | st.text(max_size=6), max_size=8).map("".join))
def test_no_rule_is_left_out_whose_literal_is_there(table: str, text: str) -> None:
    """What is not tried for the sake of time is what cannot be found."""
    wanted = [(kind, pattern) for kind, literals, pattern in rules(table) if any(one in text for one in literals)]
    assert tried(table, text) == wanted


def test_no_letter_is_taken_for_plain_that_is_drawn_as_another_or_not_at_all() -> None:
    """Which letters are not asked for one by one, for the sake of time."""
    for letter in map(chr, [*range(0xD800), *range(0xE000, 0x20000)]):
        shown = "" if unicodedata.category(letter) == "Cf" else unicodedata.normalize("NFKC", letter)
        if shown != letter:
            assert views.plain(views.View(f"a{letter}b")).text in (f"a{shown}b", "ab"), ascii(letter)


def test_each_format_is_tried_on_a_word_that_it_matches() -> None:
    for kind, _, pattern in rules("formats"):
        for seed in range(8):
            assert (kind, pattern) in tried_formats(drawn_from(pattern, random.Random(f"{pattern}{seed}"))), pattern


# Made before anybody takes the time: on a busy machine that alone is longer than one example may be.
FORMATS = [(kind, pattern, re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})")) for kind, _, pattern in rules("formats")]


@given(st.data(), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_no_format_is_left_out_that_words_hold(data: st.DataObject, rng: random.Random) -> None:
    """Nor where they are not searched for each literal, because a match begins with it."""
    made = [st.sampled_from(LITERALS), st.text(max_size=4), st.sampled_from(["_", "-", "ü", " ", "a1"])]
    tokens = st.sampled_from(rules("formats")).map(lambda row: drawn_from(row[2], rng))
    text = "".join(data.draw(st.lists(st.one_of(tokens, *made), min_size=1, max_size=6)))
    asked = tried_formats(text)
    for kind, pattern, form in FORMATS:
        if form.search(text):
            assert (kind, pattern) in asked


@pytest.mark.parametrize("count", [12, 15, 18, 21, 24])
@pytest.mark.parametrize("letters", [3, 8])
@pytest.mark.parametrize("around", ["{}", ' - > "{}". ', "A note.\n{}\n" + "more words of a sentence " * 20])
def test_a_line_of_a_seed_phrase_is_found_at_its_shortest_and_longest(count: int, letters: int, around: str) -> None:
    phrase = " ".join(["zebraqua"[:letters]] * count)
    (found,) = find_secrets(around.format(phrase))
    assert found.kind == "seed-phrase" and around.format(phrase)[found.start : found.end] == phrase


def card(head: str, length: int = 16) -> str:
    """A card's digits whose sum is right."""
    digits = head + drawn(length - len(head) - 1, string.digits)
    doubled = [int(one) * (2 - at % 2) for at, one in enumerate(reversed(digits))]
    return digits + str(-sum(one // 10 + one % 10 for one in doubled) % 10)


def iban(country: str, length: int) -> str:
    account = drawn(length - 4, string.digits)
    number = "".join(str(int(one, 36)) for one in f"{account}{country}00")
    return f"{country}{98 - int(number) % 97:02}{account}"


def in_fours(digits: str, sign: str = " ") -> str:
    return sign.join(digits[at : at + 4] for at in range(0, len(digits), 4))


@pytest.mark.parametrize("head", ["4", "51", "55", "2720", "6011", "35"])
def test_card_numbers_are_found_in_groups_and_where_a_word_says_that_it_is_one(head: str) -> None:
    digits = card(head)
    for value in (in_fours(digits), in_fours(digits, "-")):
        assert redact(f"we paid with {value}, ok") == "we paid with [removed: card-number], ok"
    assert redact(f"meine Kreditkarte {digits}") == "meine Kreditkarte [removed: card-number]"
    assert find_secrets(f"the order {digits} is late") == ()
    assert find_secrets(f"the test card {in_fours(digits)} is declined") == ()
    assert find_secrets(f"my latest card {in_fours(digits)}")
    wrong = digits[:-1] + str((int(digits[-1]) + 1) % 10)
    assert find_secrets(f"my card {in_fours(wrong)} or {wrong}") == ()
    express = card("37", 15)
    assert redact(f"{express[:4]} {express[4:10]} {express[10:]}") == "[removed: card-number]"


@pytest.mark.parametrize(
    ("country", "length"), [("DE", 22), ("NL", 18), ("FR", 27), ("NO", 15), ("PL", 28), ("AT", 20)]
)
def test_ibans_are_found_with_blanks_and_without(country: str, length: int) -> None:
    value = iban(country, length)
    for written in (value, in_fours(value), value.lower()):
        assert redact(f"pay to {written} from there") == "pay to [removed: iban] from there"
    assert find_secrets(in_fours(value[:-1])) == () == find_secrets(f"{value}12")
    assert find_secrets(value.replace(value[2:4], f"{int(value[2:4]) % 97 + 1:02}", 1)) == ()


def test_numbers_that_only_look_like_a_card_or_an_account_are_left_alone() -> None:
    for seed in range(300):
        number, long = drawn(16, string.digits, seed=seed), drawn(40, HEX, seed=seed)
        uuid = "-".join((long[:8], *(long[at : at + 4] for at in (8, 12, 16)), long[20:32]))
        texts = [f"order {number}", f"+49 {number[:3]} {number[3:10]}", long, long.upper()[:32], uuid, f"0.{number}"]
        assert [text for text in texts if find_secrets(text)] == []


def test_a_token_is_named_after_its_format_even_when_a_word_announces_it() -> None:
    text = f"GITHUB_TOKEN={github_token()}"
    assert find_secrets(text) == (SecretMatch("github-token", 13, len(text)),)


@pytest.mark.parametrize("name", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "PGP ", ""])
def test_a_private_key_is_found_with_and_without_its_end(name: str) -> None:
    block = " BLOCK" if name == "PGP " else ""
    lines = "\n".join(drawn(64, BASE64, seed=line) for line in range(5))
    head, tail = f"-----BEGIN {name}PRIVATE KEY{block}-----", f"-----END {name}PRIVATE KEY{block}-----"
    whole = f"for the edge:\n{head}\n{lines}\n{tail}\nkeep it safe"
    assert redact(whole) == "for the edge:\n[removed: private-key]\nkeep it safe"
    assert redact(f"cut off: {head}\n{lines}") == "cut off: [removed: private-key]"


def test_a_service_account_file_is_found_by_the_key_inside() -> None:
    lines = [drawn(64, BASE64, seed=line) for line in range(4)]
    key = "\n".join(["-----BEGIN " + "PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    account = {"project_id": "orders", "private_key": key, "client_email": "robot@example.org"}
    assert json.loads(redact(json.dumps(account))) == {**account, "private_key": "[removed: private-key]"}


# Places


PLACES = (
    "mysql://shop:{v}@db1.example.org:3307/orders",
    "mongodb+srv://reader:{v}@c0.example.org/archive",
    "rediss://:{v}@cache.example.org:6380/2",
    "https://robot:{v}@mirror.example.org/pkg",
    "jdbc:mysql://db/orders?user=shop&password={v}",
    "Server=sql1;User Id=sa;Password={v};Encrypt=true",
    "machine mirror.example.org login robot password {v}",
    "//mirror.example.org/pkg/:_authToken={t}",
    "Authorization: Bearer {t}",
    "Authorization: token {t}",
    "x-functions-key: {t}\nX-Acme-Api-Key: {t}",
    "Cookie: lang=de; sid={t}",
    "sshpass -p '{v}' scp build.tgz robot@edge:/srv",
    "mysqldump --all-databases -u backup -p{v}",
    "redis-cli -h edge -a {t} info",
    "podman login -u robot -p {t} images.example.org",
    "curl -u robot:{t} https://builds.example.org",
    "PGPASSWORD={v} pg_dump orders",
    "mongosh -u reader -p {t}",
    "ldapsearch -D cn=reader -w {v}",
    "openssl rsa -in k.pem -passin pass:{t}",
    "echo {t} | docker login -u robot --password-stdin",
    "CREATE USER reader IDENTIFIED BY '{v}';",
    "ALTER ROLE reader WITH PASSWORD '{v}';",
    "<password>{t}</password>",
    '<add key="ApiKey" value="{t}"/>',
    '{{"name": "ORDERS_DB_PASSWORD", "value": "{v}"}}',
    "requirepass {v}",
    "ENV ORDERS_PASS {v}",
    "podman run -e MARIADB_ROOT_PASSWORD={v} mariadb",
    "quarkus.datasource.password={v}",
    '"clientSecret" : "{t}",',
    "cookie_signing_key: '{t}'",
    "aws_secret_access_key = {a}",
    "export RAILS_MASTER_KEY={h}",
    "storage_encryption_key = {b}",
    "https://files.example.org/orders.csv?sv=2024-05-04&sp=r&sig={a}%3D",
    "AccountName=orders;AccountKey={b}{b};BlobEndpoint=x",
    "deployer private key: 0x{h}",
    "root / {v}",
    "WIFI:T:WPA;S:Lab;P:{t};;",
    "otpauth://totp/orders:ann?secret={o}&issuer=orders",
)


@pytest.mark.parametrize("line", PLACES)
def test_a_value_is_found_where_programs_and_files_put_one(line: str) -> None:
    values = {
        "v": password(3),
        "o": drawn(32, string.ascii_uppercase + "234567"),
        "t": drawn(32),
        "h": drawn(64, HEX),
        "a": drawn(40, BASE64),
        "b": drawn(43, BASE64) + "=",
    }
    text = line.format(**values)
    for name, value in values.items():
        if f"{{{name}}}" in line:
            assert is_taken_out(text, value)
    assert find_secrets(redact(text)) == ()


def test_a_basic_header_is_found_by_the_pair_inside() -> None:
    pair = base64.b64encode(f"ci:{password()}".encode()).decode()
    assert redact(f"Authorization: Basic {pair}") == "Authorization: Basic [removed: basic-auth]"


@pytest.mark.parametrize("scheme", ["https", "postgres", "amqp", "ftp"])
def test_a_password_of_letters_alone_is_found_in_a_url(scheme: str) -> None:
    word = drawn(12, string.ascii_lowercase)
    assert (
        redact(f"{scheme}://deploy:{word}@h.example.net/x")
        == f"{scheme}://deploy:[removed: url-password]@h.example.net/x"
    )


@pytest.mark.parametrize("name", ["seed phrase", "Recovery phrase", "mnemonic", "助记词"])
def test_a_seed_phrase_is_found_after_its_name(name: str) -> None:
    words = [
        "pine",
        "copper",
        "ladder",
        "meadow",
        "violin",
        "harbor",
        "salmon",
        "quartz",
        "feather",
        "tunnel",
        "acorn",
        "drift",
    ]
    random.Random(1).shuffle(words)
    phrase = " ".join(words)
    assert redact(f"{name}: {phrase}.") == f"{name}: [removed: seed-phrase]."
    assert redact(f"- {phrase}\n") == "- [removed: seed-phrase]\n"


# Prose


SENTENCES = (
    "The password for the archive is {v}",
    "Note: the printer's pw is `{v}`.",
    "log on to edge as robot, password {v}",
    "Shared mailbox team@example.org, pass: {v}",
    'Passphrase of the backup disk: "{v}"',
    "**Password:** {v}",
    "| password | {v} |",
    "the password was changed to {v} on Monday",
    "use {v} as the password",
    "{v} is the new password",
    "creds of the archive: reader:{v}",
    "you can log in with robot / {v}",
    "Passwort: {v}",
    "Das Kennwort für den Drucker lautet {v}.",
    "le mot de passe du wifi est {v}",
    "la contraseña del archivo es {v}",
    "a senha do banco é {v}",
    "la password di prova è {v}",
    "het wachtwoord is {v}",
    "hasło do bazy to {v}",
    "heslo k databázi je {v}",
    "пароль от базы: {v}",
    "şifre: {v}",
    "lösenordet är {v}",
    "打印机的密码是 {v}",
    "数据库密码是{v}。",
    "パスワードは {v} です",
    "비밀번호는 {v} 입니다",
    "mật khẩu là {v}",
    "كلمة المرور هي {v}",
)


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("seed", range(5))
def test_a_password_is_found_in_a_sentence(sentence: str, seed: int) -> None:
    value = password(seed)
    text = sentence.format(v=value)
    assert is_taken_out(text, value)
    assert find_secrets(redact(text)) == ()


def test_letters_alone_are_found_when_no_word_is_spelt_like_that() -> None:
    values = [drawn(16, string.ascii_letters, seed=seed) for seed in range(50)]
    assert sum(bool(find_secrets(f"the password is {value}")) for value in values) >= 48


def test_an_api_key_of_no_known_format_is_found_behind_its_name() -> None:
    for line in ("acme api-key = {}", "ACME_API_KEY={}", "the mistral key is {}", "api token {}", "x-auth-token: {}"):
        assert find_secrets(line.format(drawn(32, HEX))), line


CLEAN = """
the form for a new password is in web/forms/new_password.tsx
API keys are renewed each quarter (see OPS-71).
The password is hashed with SHA-256 before it is stored.
Passwords are hashed with bcrypt (cost 12) or argon2id.
Password must contain 1 uppercase letter, 1 digit and 8 characters.
The token is a JWT signed with RS256.
Das Passwort liegt in 1Password, Eintrag "archiv-db".
le mot de passe se trouve dans le coffre de l'équipe
La contraseña está en el gestor de contraseñas del equipo.
密码保存在 1Password 里，找小王要。
パスワードは1Passwordにあります。
Пароль хранится в Vault, спроси Ивана.
username: robot, password: see the safe
the secret is to keep functions small
The key to the office is with Anna (room B2-114).
credentials: rotate quarterly (OPS-2231)
tokenizer: o200k_base, max_new_tokens: 2048
design tokens: color-primary-500, spacing-4
OAuth2TokenProviderV3 returns the access token
TokenBucketRateLimiterV2 handles API key quotas
db_password = os.getenv("ORDERS_PASSWORD")
JWT_SECRET: settings.jwt_secret,
apiKey: process.env.ACME_API_KEY,
const token = await getToken(user.id);
password: z.string().min(8).max(64),
secret = secrets.token_hex(32)
return password == repeated_password
api_key_hash TEXT UNIQUE
log.debug("token: %s", token)
interface Credentials { user: string; password: string }
tokens that start with "glpat-" are ours
Authorization: Bearer <token>
Authorization: Bearer ${ACCESS_TOKEN}
wget --user "$NAME" --password "$WORD" https://mirror.example.org
MARIADB_PASSWORD=$DB_WORD mariadb
DB_PASSWORD_FILE=/run/secrets/db_password
export TOKEN=$(vault read -field=token secret/ci)
github-token: ${{ github.token }}
api_key: {{ lookup('env', 'ACME_KEY') }}
secret: "{{ orders_secret }}"
password: ********
password: changeme
ACME_API_KEY=<your key>
SECRET_KEY=change-me-in-production
auth_token: '...'
put your own glpat-... into the file
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
password was [MASKED] in the log
op read op://Private/db/password
arn:aws:secretsmanager:eu-west-1:000011112222:secret:orders/db-AbCdEf
postgres://user:password@localhost:5432/db
postgres://postgres:postgres@localhost:5432/orders
ftp://reader:<secret>@files.example.org
amqp://localhost:5672/orders
ssh://git@git.example.org:2222/orders.git
mariadb -u reader -p orders
ssh -p 2222 robot@edge
podman login -u robot --password-stdin images.example.org
-----BEGIN PUBLIC KEY-----
files that hold a BEGIN RSA PRIVATE KEY line are refused
"-----BEGIN EC PRIVATE KEY-----\\n...\\n-----END EC PRIVATE KEY-----"
<input type="password" name="password" placeholder="Password">
The seed phrase must never be stored in the repository.
The recovery phrase has twelve words and every employee keeps it in a sealed envelope at home.
2025-02-03T04:05:06.789Z the token was renewed
Ann leads the orders team and likes short answers.
"""


@pytest.mark.parametrize("line", CLEAN.strip().splitlines())
def test_text_about_secrets_and_placeholders_are_clean(line: str) -> None:
    assert find_secrets(line) == ()
    assert redact(line) == line


IDENTIFIERS = (
    "{h40} removed the token cache",
    "digest {h64}",
    "sha256:{h64}",
    "the password was changed in commit {h40}",
    "paid in transaction 0x{h64}",
    "its md5 is {h32}",
    "the idempotency key is {uuid} and the trace id {uuid}",
    'integrity="sha512-{b86}=="',
    "ssh-rsa AAAAB3NzaC1yc2EAAAA{b86} deploy key of ci",
    "deploy key fingerprint SHA256:{b43}",
    "cus_{t14} paid ch_{t24}",
    "static/login-{t8}.css has the login page's colours",
    "token owner W0{u8} wrote in D0{u8}",
    "client id {d12}-{l32}.apps.googleusercontent.com",
    "https://docs.example.org/d/{t22}/password-rules",
    "src=data:image/gif;base64,R0lGODlhAQABAIAAAP{b86}",
    "pod orders-{h10}-{l5} mounts the db secret",
)


@pytest.mark.parametrize("line", IDENTIFIERS)
@pytest.mark.parametrize("seed", range(4))
def test_hashes_and_identifiers_are_clean(line: str, seed: int) -> None:
    alphabets = {
        "h": HEX,
        "b": BASE64,
        "t": ALPHANUMERIC,
        "u": string.ascii_uppercase,
        "l": string.ascii_lowercase,
        "d": string.digits,
    }
    uuid = "-".join(drawn(length, HEX, seed=seed) for length in (8, 4, 4, 4, 12))
    text = re.sub(
        r"\{([a-z])(\d+)\}",
        lambda slot: drawn(int(slot[2]), alphabets[slot[1]], seed=seed),
        line.replace("{uuid}", uuid),
    )
    assert find_secrets(text) == ()


# Disguises


DISGUISES = {
    "wide letters": lambda token: "".join(chr(ord(c) + 0xFEE0) for c in token),
    "an invisible character inside": lambda token: f"{token[:9]}\u200b{token[9:]}",
    "a comment inside": lambda token: f"{token[:9]}<!-- - -->{token[9:]}",
    "comments inside": lambda token: f"{token[:9]}<!---->{token[9:20]}<!-- x\n-->{token[20:]}",
    "percent encoding": lambda token: "".join(f"%{ord(c):02X}" for c in token),
    "escapes": lambda token: "".join(f"\\x{ord(c):02x}" for c in token),
    "entities": lambda token: "".join(f"&#{ord(c)};" for c in token),
    "base64": lambda token: base64.b64encode(token.encode()).decode(),
    "base64 twice": lambda token: base64.b64encode(base64.b64encode(token.encode())).decode(),
    "hexadecimal": lambda token: token.encode().hex(),
    "letters apart": " ".join,
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguised_token_is_taken_out_whole(disguise: str) -> None:
    hidden = DISGUISES[disguise](github_token())
    assert redact(f"note: é {hidden} ok") == "note: é [removed: github-token] ok"


@pytest.mark.parametrize(
    "around", ["https://ci.example.com/hook/{}", "session-{}", "CI_TOKEN_{}", "a/b-c_d/{}", "{}-v2"]
)
@pytest.mark.parametrize("disguise", ["base64", "hexadecimal"])
def test_an_encoded_token_is_found_behind_a_path_or_words(around: str, disguise: str) -> None:
    hidden = DISGUISES[disguise](github_token()).rstrip("=")
    assert [match.kind for match in find_secrets(f"It is {around.format(hidden)} now.")] == ["github-token"]
    assert hidden not in redact(f"It is {around.format(hidden)} now.")
    assert secrets_in(f"{around.format(hidden).replace('https://', '')}.md", b"hello")[0] == ("github-token",)


def lines_of(token: str, columns: int) -> list[str]:
    digits = base64.b64encode(f"the key is {token} ok".encode()).decode()
    return [digits[at : at + columns] for at in range(0, len(digits), columns)]


BETWEEN = {  # what a page, a model or a person does not see, or sees through
    **{f"&{name};": f"&{name};".join for name in ("zwnj", "ZeroWidthSpace", "InvisibleTimes")},
    **{f"U+{ord(sign):04X}": sign.join for sign in "\x01\x08\x7f\x85\x9f\u0332"},
    "tag characters": lambda token: "".join(chr(0xE0000 + ord(one)) for one in token),
    "a line around each letter": "\u20dd".join,
    "a decimal entity with zeros": lambda token: "".join(f"&#{ord(one):07d};" for one in token),
    "an entity without its end": lambda token: "".join(f"&#{ord(one)}" for one in token),
    "an escape in braces": lambda token: "".join(f"\\u{{{ord(one):x}}}" for one in token),
    "a long escape": lambda token: "".join(f"\\U{ord(one):08x}" for one in token),
    "a long comment": lambda token: f"{token[:9]}<!-- {'why ' * 500}-->{token[9:]}",
    "a tag with a sign in it": lambda token: f'{token[:9]}<b title="a > b">{token[9:]}',
    "a very long tag": lambda token: f'{token[:9]}<b title="{"so " * 200}">{token[9:]}',
    "a declaration": lambda token: f"{token[:9]}<!x>{token[9:]}",
    "an instruction": lambda token: f"{token[:9]}<?x?>{token[9:]}",
    "a section": lambda token: f"{token[:9]}<![CDATA[{token[9:]}]]>",
    "a link with brackets": lambda token: f"[{token[:9]}](x_(y)){token[9:]}",
    "a link to a page": lambda token: f"[[{token[:9]}]]{token[9:]}",
    **{
        f"{mark} inside": lambda token, mark=mark: f"{token[:9]}{mark}{token[9:]}"
        for mark in ("====", "||||", "__", "$$", "~")
    },
    "a page's name inside": lambda token: f"{token[:9]}[[{token[9:15]}]]{token[15:]}",
    "a link with marks in it": lambda token: f"{token[:9]}[{token[9:12]}**{token[12:15]}**](x){token[15:]}",
    "a tag over two lines": lambda token: f"{token[:9]}<wbr\n>{token[9:]}",
    "a long tag": lambda token: f"{token[:9]}<span style='{'color:black;' * 8}'>{token[9:]}</span>",
    "two links": lambda token: f"[{token[:9]}](a.md)[{token[9:]}](b.md)",
    "a link of its own": lambda token: f"{token[:9]}[](x){token[9:]}",
    "a picture": lambda token: f"{token[:9]}![](x.png){token[9:]}",
    "a footnote": lambda token: f"{token[:9]}[^1]{token[9:]}",
    "a reference": lambda token: f"[{token[:9]}][1]{token[9:]}",
    "a link with a title": lambda token: f'[{token[:9]}](x "t"){token[9:]}',
    "base64 in very short lines": lambda token: "\n".join(lines_of(token, 8)),
    "base64 in a quotation": lambda token: "\n".join(f"> {line}" for line in lines_of(token, 20)),
    "base64 in a list": lambda token: "\n".join(f"- {line}" for line in lines_of(token, 20)),
    "base64 with gaps": lambda token: "\n\n".join(lines_of(token, 40)),
    "base64 over backslashes": lambda token: "\\\n".join(lines_of(token, 20)),
}


@pytest.mark.parametrize("disguise", BETWEEN)
def test_a_token_is_found_whatever_stands_between_its_letters(disguise: str) -> None:
    """E5: as a memory that travels would hold it."""
    hidden = BETWEEN[disguise](github_token())
    text = f"---\nname: deploy\ntype: reference\n---\n\nThe bot uses this:\n\n{hidden}\n\nto push.\n"
    assert "github-token" in [match.kind for match in find_secrets(text)]


def in_lines(digits: str, columns: int) -> str:
    return "\n".join(digits[at : at + columns] for at in range(0, len(digits), columns))


LAYERS = {
    **{name: DISGUISES[name] for name in ("entities", "base64", "hexadecimal")},
    "wide letters": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "percent encoding": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "bold letters": lambda text: "".join(chr(0x1D7EC + int(c)) if c.isdigit() else c for c in text),
    "invisible signs": "\u200b".join,
    "signs of another drawing": "\U000e0100".join,
    "stars": "**".join,
    "tags": "<i></i>".join,
    "a tag": lambda text: f"{text[:9]}<b></b>{text[9:]}",
    "a comment": lambda text: f"{text[:9]}<!-- x -->{text[9:]}",
    "percent of bytes": quote,
    "short lines": lambda text: in_lines(base64.b64encode(f"{text} and so on".encode()).decode(), 16),
    "UTF-16": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
}


@pytest.mark.parametrize("outer", LAYERS)
def test_a_token_is_found_beneath_two_disguises(outer: str) -> None:
    """Whatever is around whatever, and the same thing three times."""
    token = github_token()
    for inner, hide in LAYERS.items():
        hidden = LAYERS[outer](hide(token))
        if (inner, outer) == ("wide letters", "UTF-16"):
            continue  # which is no text of another kind than any bytes are
        assert find_secrets(f"See {hidden} there."), f"{inner} in {outer}"
    thrice = LAYERS[outer](LAYERS[outer](LAYERS[outer](token)))
    assert len(thrice) > 10_000 or find_secrets(f"See {thrice} there.")


@pytest.mark.parametrize("around", ["`{}`", "<td class=x>{}</td>", "**{}**"])
def test_encoded_lines_are_found_beneath_markup_around_each(around: str) -> None:
    """Markup around a word hides nothing, and is passed over for the sake of time; but not around lines of base64."""
    lines = in_lines(base64.b64encode(f"{github_token()} and so on".encode()).decode().rstrip("="), 20)
    assert find_secrets("\n".join(["See", *map(around.format, lines.split("\n")), ""]))


@pytest.mark.parametrize("mark", ["**", "~~", "<wbr>", "](page)", "~*~", "&shy;", "<b></b>"])
@pytest.mark.parametrize("at", [4, 5, 12])
def test_a_token_is_found_wherever_markup_cuts_it(mark: str, at: int) -> None:
    token = "ya29." + drawn(40)
    assert find_secrets(f"See {token[:at]}{mark}{token[at:]}."), at


@pytest.mark.parametrize("cut", ["{}**{}**{}", "{}*{}*{}", "{}`{}`{}", "{}<b>{}</b>{}", "{}~{}~{}", "{}[{}](page){}"])
@pytest.mark.parametrize("pieces", [("glpat-rVagLHYnLMQ", "oLU", "5BGLFt"), ("glpat-", "rVagLHYn", "LMQoLU5BGLFt")])
def test_a_token_is_found_in_a_field_though_no_piece_of_it_looks_like_one(cut: str, pieces: tuple[str, ...]) -> None:
    """E5: and whatever the next line says."""
    text = f'---\nname: x\ndescription: "{cut.format(*pieces)}"\ntype: project\n---\n\nBody.\n'
    assert [match.kind for match in find_secrets(text)].count("gitlab-token") >= 1


@pytest.mark.parametrize("word", ["the p==asswo==rd is", "api<wbr>_key:", "the ~~tok~~en is", "ap**i**_key:"])
def test_a_value_is_found_whatever_markup_cuts_the_word_for_it(word: str) -> None:
    assert find_secrets(f"A note.\n\n{word} {''.join(('x7Kq9Zt', 'R2mW4vB8n'))}\n")


CUT_BY_MARKS: dict[str, Callable[[str], str]] = {
    "bold letters": lambda value: "".join(f"**{one}**" for one in value),
    "bold inside": lambda value: f"{value[:7]}**{value[7:11]}**{value[11:]}",
    "wbr": "<wbr>".join,
    "wbr once": lambda value: f"{value[:8]}<wbr>{value[8:]}",
    "i": lambda value: "".join(f"<i>{value[at : at + 4]}</i>" for at in range(0, len(value), 4)),
    "b first": lambda value: f"<b>{value[:8]}</b>{value[8:]}",
    "br": lambda value: f"{value[:8]}<br>{value[8:]}",
    "code": lambda value: f"{value[:8]}`{value[8:12]}`{value[12:]}",
    "link": lambda value: f"{value[:4]}[{value[4:8]}](page){value[8:]}",
}
ANNOUNCED = [
    "the database password is {}.",
    "password: {}",
    "DB_PASSWORD={}",
    "postgres://app:{}@db.internal:5432/x",
    "Authorization: Bearer {}",
]


@pytest.mark.parametrize("cut", CUT_BY_MARKS)
@pytest.mark.parametrize("line", ANNOUNCED)
def test_a_value_that_its_place_or_a_word_tells_is_found_whatever_markup_cuts_it(line: str, cut: str) -> None:
    value = "".join(("x7Kq9Zt", "R2mW4vB8n"))
    for text in (line.format(CUT_BY_MARKS[cut](value)), f"A note.\n\n- {line.format(CUT_BY_MARKS[cut](value))}\n"):
        assert find_secrets(text)
        assert value[9:] not in "".join(filter(str.isalnum, redact(text)))


@pytest.mark.parametrize("number", ["DE89-3704-0044-0532-0130-00", "my-card-4539-1488-0343-6467"])
@pytest.mark.parametrize("cut", ["{0}**{1}**{2}", "{0}<b>{1}</b>{2}", "{0}<wbr>{1}<wbr>{2}"])
def test_a_number_that_proves_itself_is_found_whatever_markup_cuts_it(number: str, cut: str) -> None:
    for first, last in ((10, 16), (13, 17), (13, 18)):
        assert find_secrets(cut.format(number[:first], number[first:last], number[last:]).replace("-", " "))


@pytest.mark.parametrize(
    "line",
    [
        "Precedence, unless `skip_auth=True`):",
        "The password is in [1Password](https://1password.com), vault Ops-2.",
        "password: see [vault/db-01](https://vault.internal/db-01)/main",
        "| token | GITHUB_TOKEN<br>NPM_TOKEN2 |",
        "| secrets | config.yml<br>secrets2.yml<br/>vault.hcl |",
        "`DB_PASSWORD`=`$DB_PASSWORD` and `API_KEY`=`${API_KEY2}`",
        "DB__PASSWORD is read from Settings__Database__Password2",
        "postgres://app:<password>@<host1>:5432/<name>",
        "Authorization: Bearer <token2>, as **RFC 6750**bis says",
        "password=**required**, min_length=**12**chars",
        "The **pass**word has **12**+ letters; `token`s end after **30**d",
        "<td>password</td><td>env<b>DB_PASS1</b>x</td>",
        "set `password`: `os.environ['DB_PASS']`/`None`",
        "token: `secrets.token_hex(32)`s, or `uuid4().hex`",
        "cards | 12**34** | 2024 **2025** 2026 1234",
    ],
)
def test_markup_in_a_text_about_secrets_is_none(line: str) -> None:
    assert find_secrets(f"A note.\n\n{line}\n\nMore.") == ()


@pytest.mark.parametrize("hide", [str, lambda text: text.encode().hex(), DISGUISES["base64"]])
def test_a_token_is_found_in_the_name_of_a_folder(hide: Callable[[str], str]) -> None:
    key = f"{hide(github_token())}/n.md".replace("=", "")
    assert secrets_in(key, b"hello")[0] == ("github-token",)
    assert harmless_name(key).startswith("[removed: github-token]")


def test_a_token_that_a_folder_cuts_in_two_is_found() -> None:
    token = github_token()
    key = f"x_{token[:12]}/{token[12:]}.md"
    assert secrets_in(key, b"hello")[0] == ("github-token",)
    assert token[:12] not in harmless_name(key) and token[12:] not in harmless_name(key)


@pytest.mark.parametrize(
    "cut",
    ["key part 1: {}\nkey part 2: {}\n", '"{}" + "{}"', '"{}" \\\n    "{}"', "> {}\n> {}\n", "first {} then {}"],
)
def test_a_token_in_pieces_is_taken_out_piece_by_piece(cut: str) -> None:
    token = github_token()
    mark = "[removed: github-token]"
    assert redact(cut.format(token[:19], token[19:])) == cut.format(mark, mark)


def test_encoded_text_without_a_secret_is_clean() -> None:
    for plain in ("hello world, this is plain text for a test of the parser", '{"event": "page_view", "ok": true}'):
        assert find_secrets(f"payload {base64.b64encode(plain.encode()).decode()}") == ()


# What is handed out


def test_a_match_shows_kind_and_place_and_never_the_value() -> None:
    value = password()
    (match,) = find_secrets(f"the password is {value}")
    assert repr(match) == f"SecretMatch(kind='password', start=16, end={16 + len(value)})"
    assert match == SecretMatch("password", 16, 16 + len(value))
    assert len({match, SecretMatch("password", 16, 16 + len(value))}) == 1
    assert not hasattr(match, "__dict__")


def test_a_whole_memory_keeps_everything_but_its_secrets() -> None:
    first, second = github_token(), password()
    text = "---\nname: CI\ntype: reference\n---\r\n\n- token: {}\n\n  Das Passwort:\t{}  \nEnde…\n"
    assert redact(text.format(first, second)) == text.format("[removed: github-token]", "[removed: password]")


def test_importing_the_scanner_compiles_nothing() -> None:
    code = "import sys; before = set(sys.modules); import memdir.store.secrets; print(*set(sys.modules) - before)"
    path = f"import sys; sys.path = {sys.path!r}"  # without site, which loads what it likes
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"{path}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "memdir.store.secrets.rules" in done.stdout.split()
    assert not {"re", "json", "typing", "dataclasses", "pathlib"} & set(done.stdout.split())


LURES = (
    *(
        "password",
        "token=",
        "the",
        " is ",
        "key:",
        "admin / ",
        "login ",
        "密码是",
        "seed phrase: ",
        "-----BEGIN PRIVATE KEY-----",
    ),
    *(
        "-----END",
        "://",
        "@",
        "ghp_",
        "sk-",
        "eyJ",
        ".",
        "%41",
        "\\x41",
        "&#65;",
        "<!-- ",
        " -->",
        "Aa1!",
        "b4Zq9",
        "\n",
        "\n\n",
        " ",
        "`",
        '"',
    ),
    *("'", "[", "]", "+", "\u200b", "ａ", "İ", "ﷺ", "\ud800"),
)
texts = st.one_of(
    st.text(max_size=200), st.lists(st.one_of(st.sampled_from(LURES), st.text(max_size=8)), max_size=40).map("".join)
)


@given(texts)
@example("İ password: " + "x1" * 20)
@settings(max_examples=200, deadline=None)
def test_any_text_is_scanned_and_only_what_was_found_is_replaced(text: str) -> None:
    matches = find_secrets(text)
    assert all(0 <= match.start < match.end <= len(text) for match in matches)
    assert all(first.end <= second.start for first, second in pairwise(matches))
    kept = [
        text[start:end]
        for start, end in zip([0, *(m.end for m in matches)], [*(m.start for m in matches), len(text)], strict=True)
    ]
    once = "".join(
        part for pair in zip(kept, [*(f"[removed: {m.kind}]" for m in matches), ""], strict=True) for part in pair
    )
    assert redact(text) == (redact(once) if matches else text)
    assert find_secrets(redact(text)) == ()


@given(st.text(max_size=80), st.text(max_size=80), st.integers(0, 10_000))
@settings(max_examples=150, deadline=None)
def test_a_token_is_found_whatever_stands_around_it(before: str, after: str, seed: int) -> None:
    token = github_token(seed)
    assert is_taken_out(f"{before}\n{token}\n{after}", token)


STUFFING = (
    *(
        "token=",
        "secret 0x",
        "ops_eyJ",
        "password is a1! ",
        "sshpass",
        "a1b2c3d4e5\n",
        '"a1" + ',
        "://a:",
        "x:yyyyyy@",
        "%41",
    ),
    *(
        "密码是",
        "-----BEGIN PRIVATE KEY-----",
        "A",
        " ",
        "a b ",
        "seed phrase: abc ",
        "mysql -p",
        "cookie: a",
        "\\",
        "QUFBQUFB",
    ),
)


@pytest.mark.parametrize("piece", STUFFING)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    def seconds(size: int, enough: float = 0.0) -> float:
        text = (piece * size)[:size]
        return cpu_seconds(lambda: find_secrets(text), enough=enough)

    most = 9 * seconds(4_000) + 0.2  # four times the text; sixteen times the time would be quadratic
    assert seconds(16_000, most) < most


# The eval


def test_the_eval_prints_figures_and_kinds_but_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import gzip

    value = password()
    cases = [
        {"text": f"the password is {value}", "expect": "secret", "kind": "said"},
        {"text": "nothing of the sort", "expect": "secret", "kind": "unfindable"},
        {"text": "plain words", "expect": "clean", "kind": "prose"},
        {"text": f"password: {value}", "expect": "clean", "kind": "trap"},
    ]
    data, predictions = tmp_path / "corpus.jsonl.gz", tmp_path / "out.jsonl"
    data.write_bytes(gzip.compress("\n".join(map(json.dumps, cases)).encode()))
    monkeypatch.setattr(sys, "argv", ["secrets", "--data", str(data), "--predictions", str(predictions)])
    assert secrets_eval.main() == 1
    printed = capsys.readouterr().out
    assert "missed: unfindable 1" in printed and "reported though clean: trap 1" in printed
    assert "precision 0.500" in printed and "recall 0.500" in printed
    assert value not in printed
    got = [json.loads(line) for line in predictions.read_text(encoding="utf-8").splitlines()]
    assert got == [
        {"line": line, "got": verdict} for line, verdict in enumerate(["secret", "clean", "clean", "secret"])
    ]


def test_a_table_without_its_words_lets_nothing_pass() -> None:
    """A placeholder that is found everywhere would excuse every secret."""
    with pytest.raises(MemdirError, match="Install memdir again"):
        one_of("a list that is not there")
