"""Words to index terms: stop words of several languages dropped, English endings cut, accents already folded.

The stemmer is a small one of ours in the manner of Porter's: it only has to give one form to words of one family.
"""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ENGLISH = (
    "a about above after again all also am an and any are as at be because been before being below between both "
    "but by can could did do does doing done dont down during each few for from further get go got had has have "
    "having he hello her here hers hey hi him his how i id if ill im in into is isnt it its ive just let lets "
    "like ll make may me might more most must my need no nor not now of off ok okay on once only or other our out "
    "over own please pls re s same shall she should so some such t than thank thanks that thats the their them "
    "then there these they this those to too under until up us ve very want was we were what whats when where "
    "which while who whom whose why will with without would you your "
)
_OTHER = (
    "aber als am an auch auf aus bei bin bis bitte da das dass dem den der des die dies diese doch du ein eine "
    "einem einen einer er es fur hab habe haben hat ich ihr im in ist ja kann kein keine konnen man mein mich mir "
    "mit muss nach nicht noch nur oder ohne schon sein sich sie sind so soll uber um und uns von vor war warum "
    "was wenn wer wie wir wird wo zu zum zur al avec aux ce ces cette comme dans de des du elle en est et etre il "
    "ils je la le les leur lui ma mais me mes mon ne nos notre nous on ont ou par pas plus pour qu que qui sa "
    "sans se ses son sont sur ta te tu un une vos votre vous como con cual cuando del desde donde el ella ellos "
    "entre era es esa ese esta este esto hay hasta la las lo los mas mi muy nos o para pero por que se si sin "
    "sobre su sus tambien te tiene un una uno y ya yo ao aos com da das do dos e eles em essa esse eu foi isso ja "
    "mais mas meu minha na nao nas no nos num o os ou pela pelo quando quem seu sua tem uma voce che chi ci della "
    "delle dei del di gli ho il io le lei lui ma mio nel nella non noi per piu quando questo sono tra aan al als "
    "bij dat de deze die dit een en er geen had heb hebben heeft het hij hoe ik is je kan maar me met mijn moet "
    "naar niet nog of om ons ook op te toch tot uit van veel voor waar wanneer wat we wel wie wij worden ze zijn "
    "zo zou att av den det eller en ett for fra han har hvad hvem hvor hvordan hvorfor i ikke inte jag jeg kan "
    "med men nar og om pa ska skal som til till vad vi var vil aby ale bo by byc co czy dla do gdzie i ich ja jak "
    "jest kiedy kto lub ma na nad nie o od po pod sie sa tak to tym w z za ze ve bir bu icin ile mi ne "
)
STOP_WORDS = frozenset((_ENGLISH + _OTHER).split())

_MIN_STEM = 3  # shorter stems join words of different families
_VOWELS = frozenset("aeiouy")
# Longest first; the second is what stays in the ending's place.
_RULES = (
    "ational>ate ization>ize isation>ize fulness>ful iveness>ive ousness>ous ibility>ible ability>able ically>ic "
    "ations>ate ements> ation>ate ement> ments> ities> ators>ate ating>ate ingly> ated>ate edly> ment> ness> "
    "ator>ate ings> ions> ally>al sses>ss ies>i ied>i ing> ion> ity> ers> ors> ous> ful> ive> ize> ise> ate> est> "
    "ed> er> or> al> ly> es> s> "
)
_ENDINGS = [tuple(rule.split(">")) for rule in _RULES.split()]
_BY_LAST_LETTER = {
    letter: tuple([one for one in _ENDINGS if one[0][-1] == letter]) for letter in {one[0][-1] for one in _ENDINGS}
}
_NEEDS_S_OR_T = frozenset(("ion", "ions"))
_LIGHT = frozenset(("er", "ers", "or", "ors", "al", "est", "ous", "ful", "ive", "ity", "ize", "ise", "ate"))
_MIN_LIGHT_STEM = 4  # "order", "local", "test": a short rest is a word of its own


def stem(word: str) -> str:
    """One form for the words of a family; words that are not plain ASCII letters stay as they are."""
    if len(word) <= _MIN_STEM or not (word.isascii() and word.isalpha()):
        return word
    for _ in range(2):  # a plural hides one more ending
        shorter = _cut(word)
        if shorter == word:
            break
        word = shorter
    if word.endswith("e") and len(word) > _MIN_STEM + 1:
        word = word[:-1]
    if len(word) > _MIN_STEM and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > _MIN_STEM else word


def terms(words: Iterable[str]) -> list[str]:
    """The terms to index or to look up, in order, repeats kept."""
    return [term for word in words if (term := term_of(word))]


def term_of(word: str) -> str:
    """The term of a word; empty for a stop word."""
    return "" if word in STOP_WORDS or (len(word) == 1 and not word.isdigit()) else stem(word)


def pairs(words: Sequence[str]) -> list[str]:
    """Every two terms that stand side by side, as one term each: "high school" is more than "high" and "school"."""
    found = [term_of(word) for word in words]
    return [f"{one} {other}" for one, other in pairwise(found) if one and other]


def _cut(word: str) -> str:
    for ending, replacement in _BY_LAST_LETTER.get(word[-1], ()):
        if not word.endswith(ending):
            continue
        rest = word[: -len(ending)]
        if ending == "s" and rest.endswith(("s", "u", "i")):
            return word
        least = _MIN_LIGHT_STEM if ending in _LIGHT else _MIN_STEM
        if len(rest) < least or not _VOWELS & set(rest) or (ending in _NEEDS_S_OR_T and rest[-1] not in "st"):
            continue
        return rest + replacement
    return word
