"""The rules that find secrets: tokens of a published format, whole or in pieces, and blocks of keys; values in a place
where a protocol, a program or a file puts one; values that a word announces ("the password is …", DB_PASSWORD=…)."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from memdir.store.secrets.tables import compiled, one_of, tried, tried_formats
from memdir.store.secrets.value import ASSIGNED, MAX_JUDGED, NEAR, SAID, STATED, is_value, is_wordlike, stands_for_one
from memdir.store.secrets.view import ESCAPE, MAX_LAYERS, WRAPPED, decoded, readable, rewritten, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match

    from memdir.store.secrets.view import View

    Finding = tuple[int, str, int, int]  # rank, kind, start and end
    _Span = tuple[int, int, int]  # how much its surroundings say of it, start and end

# Which finding names a secret that several rules found: the most specific one.
RANK_BLOCK, RANK_FORMAT, RANK_PLACE, RANK_WORD, RANK_SPLIT = 0, 1, 2, 3, 4
MAX_KEY_BLOCK = 20_000  # an armoured 16,384-bit RSA key is about 13,000 characters
MIN_KEY_DIGITS = 32  # the shortest private key there is (Ed25519) has more base64 digits
# What may stand between the pieces of a token. It begins with a class of signs: to be looked for in a part of the time.
_JOINTS = (
    r"""["'`\\ \t\r\n](?:"""
    r"""(?<=["'`])\s{0,4}(?:[+.&]|\|\|)?\s{0,4}\\?\s{0,20}["'`]"""  # "ab" + "cd"
    r"""|(?<=[ \t])[ \t]{0,3}(?:\+|then|followed by|plus|and)[ \t]{1,4}"""  # ab and cd
    r"""|(?:(?<=[ \t])[ \t]{0,7}\\?\r?\n|(?<=\\)\r?\n|(?<=\r)\n|(?<=\n))"""  # a new line ...
    r"""[ \t]{0,16}(?:[-*>#|]{1,3}[ \t]{1,4})?"""  # ... a bullet ...
    r"""(?:[A-Za-z][\w .()#/-]{0,30}[:=][ \t]{0,4})?["'`]?"""  # ... "second half: "
    r"""|(?<=[ ])(?<!\S\S[ ])(?=\S(?!\S)))"""  # a b c d
)
# What a page shows without a gap; each kind begins with a sign of its own, as above. ◦ is where one looks back.
_KINDS = (
    r"\*◦[*`]{0,2}+",  # ab**cd**
    r"`◦[*`]{0,2}+",
    *(rf"\{sign}◦\{sign}" for sign in "=|_$"),  # ab==cd==
    r"~◦~?",  # ab~cd~, ab~~cd~~
    r"""<◦/?[A-Za-z](?:(?:[^<>"']{1,400}+|"[^"]{0,900}"|'[^']{0,900}'){0,20}|[^<>]{0,200})>""",  # ab<wbr>cd
    r"<◦(?:!\[CDATA\[|[!?][^<>]{0,200}>)",
    r"\\◦(?:(?=[!-/:-@\[-`{-~]|\w\\)|(?<=\\\w\\)(?=\w))",  # ab\_cd, a\b\c\d
    r"\](?:\([^()\n]{0,200}+(?:\([^()\n]{0,99}\)[^()\n]{0,99}+)?\)|\[[^\[\]\n]{0,40}\]|\])",  # [ab](c)d, [ab][1]c
    r"\[(?:\[(?=[\w.-]*\]\])|(?<=[\w)!.=/+-]\[)(?=[\w.*`~=-]*\][(\[])|\^[\w-]{1,20}\])",  # ab[[cd]], ab[cd](page)
    r"!(?<=[\w.=/+-]!)(?=\[[\w.-]*\]\()",  # ab![](page)cd
    r"&◦(?:shy|zwn?j|nbsp|NoBreak|ZeroWidthSpace|#(?:173|820[345]|[xX](?:[aA][dD]|200[b-dB-D]|[fF][eE][fF]{2})));",
)
_MARKUP = "|".join(_KINDS).replace("◦", "")
# Inside of a word, which most texts are without: around one it hides nothing. Kind by kind, as each begins with a sign.
_INSIDE = (r"""(?<![\s"'`,({*>].)(?<!\W\[.)""", r"(?=[\w%+/=&#<~\\*`\[-]|[;:.]\S)")
_CUTS = tuple((kind.removeprefix("\\")[0], kind.replace("◦", _INSIDE[0]) + _INSIDE[1]) for kind in _KINDS)
_ALONE = r"\n[ \t]{0,8}+(?=<|\S{12})(?:[^\s<]|<[^<>\n]{0,62}>){2,300}\r?(?:\n|$)"  # perhaps a line of base64 beneath
_MARKED_GROUPS = r"0[ -]?[*_~`<][a/>*_~`]{0,6}[ -]?0"  # of a number, in the shape of a text: 12**34**, 12 <b>34</b>
WINDOW = 120  # how far behind its word a value stands in prose: about one line
_SEED_SIZE, _GAPS = range(47, 225), 11  # characters and blanks of a line of 12 to 24 words, with its marks
MAX_WORDS_BETWEEN = 10  # and how many words may stand in between
_MARKS = (":", "=", ">", "|", "/", "→", "–", "—")  # what people write between a name and its value
# Numbers that prove themselves by their sum. Each pattern begins with a class, as above. A card's digits in a row may
# be an order's: there a word must say that it is one; and a test's card is nobody's.
_CARD = r"[2-6](?<![\w.,+/=-].)\d{3}([ -]?)(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{5})(?![\w=/-]|[.,]\d)"
_ISSUER = r"4|5[1-5]|2[2-7]|3[457]|6(?:011|2|4[4-9]|5)"
_CARD_WORD = (
    r"(?i)card|karte|carte|tarjeta|cart[aã]o|carta|kaart|kart[aąęy]|visa|master|amex|cv[cv]|карт|信用卡|カード|카드"
)
_NO_CARD = r"(?i)\b(?:test|dummy|fake|sandbox|example|beispiel|exempl|ejemplo|esempio)"
_AROUND_CARD = 60  # characters before and behind it
_IBAN = r"[0-9](?<=[A-Za-z]{2}.)(?<![\w+/=-][A-Za-z]{2}.)[0-9](?: ?[A-Za-z0-9]){11}"  # from its check digits on
_IBAN_LENGTHS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BR29 CH21 CY28 CZ24 DE22 DK18 EE20 ES24 FI18 FR27 GB22 GE22 GR27"
    " HR21 HU28 IE22 IL23 IS26 IT27 JO30 KW30 KZ20 LB28 LI21 LT20 LU20 LV21 MC27 MD24 ME22 MK19 MT31 NL18 NO15"
    " PK24 PL28 PT25 QA29 RO24 RS22 SA24 SE24 SI19 SK24 SM27 TN24 TR26 UA29 XK20"
)
_LETTERS, _NUMBERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789"
_SHAPE = bytes.maketrans(_LETTERS + _NUMBERS, b"a" * len(_LETTERS) + b"0" * len(_NUMBERS))  # what a text looks like
_LEVELS = {"near": NEAR, "assigned": ASSIGNED, "stated": STATED}


def by_format(view: View) -> Iterator[Finding]:
    for kind, pattern in _formats_in([view.text[start:end] for start, end in view.long_words]):
        for start, end in view.long_words:
            yield from _format_matches(kind, pattern, view.text, start, end)


def _formats_in(words: list[str]) -> list[tuple[str, str]]:
    """The formats that one of these words may be of: the pattern alone is searched for in all of them at once, which
    takes a part of the time."""
    text = "\n".join(words)
    return [one for one in tried_formats(text) if compiled(one[1]).search(text)] if text else []


def _format_matches(kind: str, pattern: str, text: str, start: int, end: int) -> Iterator[Finding]:
    for match in compiled(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])").finditer(text, start, end):
        begin, finish = match.span(match.lastindex or 0)
        value = text[begin:finish][:MAX_JUDGED]
        has_digit = any(character.isdigit() for character in value)
        if not stands_for_one(value) and not (is_wordlike(value) and not (has_digit and value.isalnum())):
            yield RANK_FORMAT, kind, begin, finish


def key_blocks(text: str) -> Iterator[Finding]:
    if "PRIVATE KEY" not in text and "Private-Lines" not in text:
        return
    headers = r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: \d{1,3}(?=\s)"
    blanks = r"\.\.\.|[<*\[]|[xX]{8}|(?i:example|redacted)"  # what documentation puts in place of a key
    done = 0
    for match in compiled(headers).finditer(text):
        if match.start() < done:
            continue
        end = text.find("-----END", match.end(), match.end() + MAX_KEY_BLOCK)
        if end < 0:
            body = compiled(r"[A-Za-z0-9+/=\s\\]{0,20000}").match(text, match.end())
            end = body.end() if body else match.end()
        content = text[match.end() : end]
        if len(compiled(r"[^A-Za-z0-9+/]").sub("", content)) >= MIN_KEY_DIGITS and not compiled(blanks).search(content):
            footer = compiled(r"-----END [A-Z0-9 ]{1,60}-----").match(text, end)
            done = footer.end() if footer else match.end() + len(content.rstrip())
            yield RANK_BLOCK, "private-key", match.start(), done


def in_pieces(text: str, view: View, found: list[Finding]) -> Iterator[Finding]:
    """Tokens that were cut: over lines, into strings to be joined, after labels ("part 2: "), letter by letter, by
    markup."""
    if not _is_marked(view.text) and not _may_hold_pieces(view.text):
        return  # as most prose: this saves building the view. What marks cut may have no piece that tells
    known = bytearray(len(text))
    for rank, _, start, end in found:
        if rank <= RANK_FORMAT:  # whole; what only a word announced may be the first piece
            known[start:end] = b"\1" * (end - start)
    seen = Counter(view.text[slice(*word)] for word in view.words)
    for joints in (_JOINTS, _MARKUP) if _is_marked(view.text) else (_JOINTS,):
        whole = _without(joints, view.text)
        new = Counter(whole[slice(*word)] for word in words_of(whole)) - seen
        if not _formats_in(list(new)):
            continue  # as most texts: this saves the way back to where each character stood
        joined = rewritten(view, joints, lambda _: "")
        for rank, kind, start, end in by_format(joined):
            pieces = _runs(text, joined, start, end)
            is_cut = pieces[-1][1] - pieces[0][0] > end - start
            if is_cut and not any(known[slice(*pieces[0])]):
                yield from ((rank + RANK_SPLIT, kind, *piece) for piece in pieces)


def across_marks(view: View) -> Iterator[Finding]:
    """Values that a word, a place or their sum tells, with markup between their letters or in the word; what else
    stands between two marks is found by itself."""
    if not _is_marked(view.text) and not compiled(_MARKED_GROUPS).search(_shape(view.text)):
        return
    text = _without(_MARKUP, view.text)
    lower = text.replace("İ", "I").lower()
    found = [*by_place(text, lower), *by_announcement(text, lower), *by_sum(text)]
    whole = rewritten(view, _MARKUP, lambda _: "")
    for rank, kind, *span in found:
        letters = compiled(r"(?s)\w.*\w").search(text, *span)
        begin, finish = (whole.starts[letters.start()], whole.ends[letters.end() - 1]) if letters else (0, 0)
        if letters and (rank == RANK_WORD or finish - begin > len(letters.group())):
            yield rank + RANK_SPLIT, kind, begin, finish


def unmarked(view: View) -> View | None:
    """The text without markup, where that lays bare what may be a disguise itself: something encoded or escaped."""
    if not _is_marked(view.text):
        return None
    whole = once = _without(_MARKUP, view.text)
    for _ in range(MAX_LAYERS):
        before, whole = whole, compiled(_MARKUP).sub("", whole)
        if whole == before:
            break
    seen = {view.text[slice(*word)] for word in view.words}
    new = [word for word in (whole[slice(*one)] for one in words_of(whole)) if word not in seen]
    encoded = (run for word in new for run in compiled(r"[A-Za-z0-9+/_-]{24,}").findall(word))
    if not any(map(decoded, encoded)) and not (whole != once and _formats_in(new)) and not _is_more(whole):
        joined = compiled(_JOINTS).sub("", whole)
        if not _formats_in([word for word in (joined[slice(*one)] for one in words_of(joined)) if word not in seen]):
            return None
    return rewritten(view, _MARKUP, lambda _: "")


@lru_cache(maxsize=2)
def _without(joints: str, text: str) -> str:
    return compiled(joints).sub("", text)


@lru_cache(maxsize=2)
def _shape(text: str) -> str:
    return text.encode("latin-1", "replace").translate(_SHAPE).decode("latin-1")


@lru_cache(maxsize=2)
def _is_marked(text: str) -> bool:
    """Whether there is markup that may hide something; to ask for its signs first is far faster than a pattern."""
    signs = [(sign, cut) for sign, cut in _CUTS if sign in text]
    return any(compiled(cut).search(text) for _, cut in signs) or bool(signs and compiled(_ALONE).search(text))


def _is_more(text: str) -> bool:
    """Whether a text is a disguise of another kind still; asking for a sign first is far faster than a pattern."""
    beneath = ((ESCAPE, "%\\&"), (WRAPPED, "\n"), ("<!--", "<"))
    return any(any(sign in text for sign in signs) and compiled(one).search(text) for one, signs in beneath)


def _may_hold_pieces(text: str) -> bool:
    """Whether there is what no token is without: a digit beside a letter in a longer run, or letters one by one."""
    if compiled(r" \S \S \S ").search(text) and compiled(r"(?:\S ){15}").search(text):
        return True
    is_mixed = compiled(r"0(?:(?=a)|(?<=a.))").search(_shape(text))
    return bool(is_mixed and compiled(r"(?=[A-Za-z0-9_-]{8})[A-Za-z_-]{0,40}[0-9]").search(text))


def _runs(text: str, view: View, start: int, end: int) -> list[tuple[int, int]]:
    """The stretches of the original text that these characters of a view came from; only blanks are inside one."""
    runs: list[tuple[int, int]] = []
    for place in range(start, end):
        if runs and not text[runs[-1][1] : view.starts[place]].strip(" "):
            runs[-1] = (runs[-1][0], view.ends[place])
        else:
            runs.append((view.starts[place], view.ends[place]))
    return runs


def by_place(text: str, lower: str) -> Iterator[Finding]:
    for name, pattern in tried("places", lower):
        kind, _, certainty = name.partition(":")
        for match in compiled(pattern).finditer(text):
            begin, finish = match.span(match.lastindex or 0)
            value = text[begin:finish]
            if certainty == "pair":
                accepted = _is_pair(value)
            elif kind == "url-password" and match.group().partition("://")[2].partition(":")[0] == value:
                accepted = False  # postgres:postgres, guest:guest: what a database starts with, no secret
            else:
                accepted = is_value(value, _LEVELS[certainty], human=certainty == "stated")
            if accepted:
                yield RANK_PLACE, kind, begin, finish


def by_sum(text: str) -> Iterator[Finding]:
    """Card numbers and bank accounts, which prove themselves by their sum."""
    if not compiled(r"0000[ -]?0000").search(_shape(text)):
        return  # as most texts: each of them has that
    for match in compiled(_CARD).finditer(text):
        digits = compiled(r"\D").sub("", match.group())
        around = text[max(0, match.start() - _AROUND_CARD) : match.end() + _AROUND_CARD]
        is_announced = bool(match[1] or compiled(_CARD_WORD).search(around)) and not compiled(_NO_CARD).search(around)
        luhn = sum(int(one) if at % 2 == 0 else sum(divmod(2 * int(one), 10)) for at, one in enumerate(digits[::-1]))
        if is_announced and compiled(_ISSUER).match(digits) and luhn % 10 == 0:
            yield RANK_FORMAT, "card-number", *match.span()
    for match in compiled(_IBAN).finditer(text):
        begin = match.start() - 2
        length = _IBAN_LENGTHS.partition(text[begin : match.start()].upper())[2][:2] or "0"
        whole = compiled(rf"(?:[A-Za-z0-9] ?){{{length}}}(?<! )(?![\w+/=-])").match(text, begin)
        iban = whole.group().replace(" ", "").upper() if whole else ""
        if whole and int("".join(str(int(one, 36)) for one in iban[4:] + iban[:4])) % 97 == 1:
            yield RANK_FORMAT, "iban", *whole.span()


def _is_pair(encoded: str) -> bool:
    """Whether this is base64 of "user:password"."""
    import binascii

    digits = encoded.rstrip("=").replace("-", "+").replace("_", "/")
    if len(digits) % 4 == 1:
        return False
    user, colon, word = readable(binascii.a2b_base64(digits + "=" * (-len(digits) % 4))).partition(":")
    return bool(colon) and word != user and is_value(word, STATED, human=True)


def by_announcement(text: str, lower: str) -> Iterator[Finding]:
    for group, pattern in tried("announcers", lower):
        for match in compiled(pattern).finditer(lower):
            start, end = match.span()
            if group == "seed":
                yield from _words_after(lower, end)
            elif end - start >= 5 or not _runs_on(text, end) or not match.group().isascii():
                yield from _announced_by(text, lower, match, group)


def _runs_on(text: str, end: int) -> bool:
    """Whether the word goes on there: "path", "passing" are others, which most mentions of a short one are."""
    after = text[end : end + 1]
    return after.isalpha() and after.islower() == text[end - 1].islower()


def _announced_by(text: str, lower: str, word: Match[str], group: str) -> Iterator[Finding]:
    if not _is_promising(text, max(0, word.start() - WINDOW), word.end() + WINDOW):
        return
    end = _end_of_name(text, lower, word, group)
    about = compiled(r"[\s_-]{0,4}([a-z]{1,20})").match(lower, end) if end else None
    if not end or (about and one_of("about").fullmatch(about[1])):
        return
    kind = "token" if group == "machine" else "password"
    for level, start, stop in (
        *_assigned(text, end, group),
        *_tokens_after(text, end, group),
        *_token_before(text, word, group),
    ):
        if is_value(text[start:stop], level, human=group != "machine"):
            yield RANK_WORD, kind, start, stop


def _is_promising(text: str, start: int, stop: int) -> bool:
    """Whether anything here is more than plain words: it saves the closer look at most mentions of a password."""
    signs = r"\d|[a-z][A-Z]|[A-Z]{2}[a-z]|[^\w\s.,;:()-]|[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{5}"
    return compiled(signs).search(text, start, stop) is not None


def seed_phrases(lower: str) -> Iterator[Finding]:
    """A line that is nothing but a wallet's number of plain words, without a word that announces them."""
    words = r"[ \t>*\"'`-]{0,6}+([a-z]{3,8}(?: [a-z]{3,8}){11}(?:(?: [a-z]{3,8}){3}){0,4})[\"'`. ]{0,3}"
    at = 0
    for line in [one for one in lower.split("\n") if len(one) in _SEED_SIZE and one.count(" ") >= _GAPS]:
        match = compiled(words).fullmatch(line)
        if match and not any(one_of("common").fullmatch(word) for word in match[1].split()):
            at = f"\n{lower}\n".index(f"\n{line}\n", at)
            yield RANK_FORMAT, "seed-phrase", at + match.start(1), at + match.end(1)
            at += len(line) + 1


def _words_after(lower: str, end: int) -> Iterator[Finding]:
    """The seed phrase behind its name: twelve and more short words, numbered or not, that make no sentence."""
    link = r"""[^\n:=]{0,60}?(?:[:=]|\b(?:is|ist|est|es|è)\b|是)[\s"'`*\d.)]{0,8}"""
    gap = r"""[\s,;.:)"'`*_-]{1,6}(?:\d{1,2}[.):]{0,2}\s{0,2})?"""
    match = compiled(rf"{link}([a-z]{{3,8}}(?:{gap}[a-z]{{3,8}}){{11,24}})\b").match(lower, end)
    if match and sum(bool(one_of("common").fullmatch(word)) for word in match[1].split()) <= 1:
        yield RANK_FORMAT, "seed-phrase", *match.span(1)


def _end_of_name(text: str, lower: str, match: Match[str], group: str) -> int:
    """Where the name around this word ends (DB_PASSWORD_PROD); 0 when it is another word, or only about secrets."""
    word, end = match.group(), match.end()
    if _is_part_of_other_word(text, match, group) or _is_public(lower, match.start(), group):
        return 0
    if not word.isascii():
        return end
    suffix = compiled(r"[\w-]{0,40}(?:\.\w{1,40}){0,4}").match(text, end)
    rest = suffix.group() if suffix else ""
    is_plural = rest[:1] in ("s", "S") and group == "machine"
    if _runs_on(text, end) and (is_plural or len(word) < 5 or compiled(r"[a-z]{3}|[A-Z]{3}").match(rest)):
        return 0  # "max_tokens", "passing", "tokenizer"
    parts = compiled(r"[A-Z]?[a-z]+|[A-Z]+").findall(rest)
    return 0 if any(one_of("about").fullmatch(part.lower()) for part in parts) else end + len(rest)


def _is_part_of_other_word(text: str, match: Match[str], group: str) -> bool:
    """ "bypass", "enclave", or letters inside something encoded; "dbPass" and "dbpassword" are names."""
    word, start = match.group(), match.start()
    before = text[start - 1 : start]
    if not word.isascii() or not before or not (before.isalnum() or before in "+/"):
        return False
    is_hump = len(word) > 3 and text[start].isupper() and before.islower()
    return not is_hump and (len(word) <= 4 or group == "login" or word in ("clave", "senha"))


def _is_public(lower: str, start: int, group: str) -> bool:
    """Whether what stands before the word makes it no secret: a public key, a page token, the name of a secret."""
    if "arn:" in lower[max(0, start - WINDOW) : start].rpartition(" ")[2]:
        return True
    qualifier = compiled(r"[a-z0-9]+(?=[ _.-]?$)").search(lower[max(0, start - 20) : start])
    return group == "machine" and qualifier is not None and bool(one_of("public").fullmatch(qualifier.group()))


def _assigned(text: str, end: int, group: str) -> Iterator[_Span]:
    """The value that an equals sign, a colon or the like gives to the name that ends at `end`."""
    before = r"""[\\"'`\])}*_]{0,4}\s{0,3}(?:\([^()\n]{0,40}\)\s{0,2})?[*_]{0,2}"""
    sign = r"(?::=|=>|->|→|={1,3}|:|\||>)[*_]{0,2}[ \t]{0,4}"
    word = r"""(?:\\?"([^"\n]{1,300})"|\\?'([^'\n]{1,300})'|`([^`\n]{1,300})`|([^\s"'`<>]{1,300}))"""
    match = compiled(before + sign + word).match(text, end)
    if match and group != "login":
        start, stop = match.span(match.lastindex or 0)
        yield ASSIGNED, start, _trimmed(text, start, stop, quoted=match.lastindex != 4)


def _tokens_after(text: str, end: int, group: str) -> Iterator[_Span]:
    """The next few words of the sentence, each with what the word before it says about it."""
    sentence = r"\n\s*\n|[.!?]\s+(?=[A-Z][a-z]+ )|(?<=\w)[,.;]?\n\s*(?:[-*#>|]|\w[\w ]{0,30}[:=])"
    stop = compiled(sentence).search(text, end, end + WINDOW)
    tokens = compiled(r"[!-~À-ÖØ-öø-ɏ]+|[^\s!-~À-ÖØ-öø-ɏ]+").finditer(text, end, stop.start() if stop else end + WINDOW)
    previous = "" if group == "login" else ":"  # "password Xyz", but not "login Xyz"
    for number, token in enumerate(tokens):
        if number >= MAX_WORDS_BETWEEN:
            return
        start, finish = _unwrapped(text, *token.span())
        if _is_promising(text, start, finish):
            direct = previous.endswith(_MARKS) or bool(one_of("links").fullmatch(previous.lower()))
            if direct or not one_of("identifiers").fullmatch(previous.lower()):
                yield (SAID if direct else NEAR), start, finish
            pair = compiled(r"[\w.@-]{2,40}[:/](?=[^\s:/]{6})").match(text, start, finish)
            if pair and group != "machine":
                yield (SAID if group == "login" else NEAR), pair.end(), finish
        previous = ":" if text[finish : token.end()] in (":", "=") else text[start:finish]


def _token_before(text: str, word: Match[str], group: str) -> Iterator[_Span]:
    """The value that stands before its word, with a link between: "Xyz is the password", "use Xyz as password"."""
    tokens = list(compiled(r"\S+").finditer(text, max(0, word.start() - WINDOW), word.start()))[-5:]
    for place, link in enumerate(tokens[1:]):
        sure = group == "human" and link.group() in ("is", "as", "ist", "als", "est", "comme", "es", "como", "è", "é")
        if (
            sure
            or link.group() in ("was", "=", "for", "für", "pour", "para", "-", "–", "—", ":")
            or link.group()[0] == "("
        ):
            yield (SAID if sure else NEAR), *_unwrapped(text, *tokens[place].span())


def _unwrapped(text: str, start: int, stop: int) -> tuple[int, int]:
    """Without the quotes, brackets and stops that prose puts around a word."""
    while start < stop and (text[start] in "\"'`“„«「‘([{:=" or text.startswith("**", start)):
        start += 1
    while start < stop and (text[stop - 1] in "\"'`”»」’)]},.;:" or text.endswith("**", start, stop)):
        stop -= 1
    return start, stop


def _trimmed(text: str, start: int, stop: int, *, quoted: bool) -> int:
    """Where a value ends that runs into what follows it: the next parameter, the end of a sentence."""
    if quoted:
        return stop - 1 if text[stop - 1] == "\\" else stop
    following = compiled(r"[&;,]\s?[A-Za-z_][\w.-]*=").search(text, start, stop)
    if following:
        stop = following.start()
    while stop > start + 1 and text[stop - 1] in ",;)]}.|\\":
        stop -= 1
    return stop
