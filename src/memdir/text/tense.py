"""Whether a clause tells what is past: which Tuesday is meant hangs on it (T3).

By the form of the verb, for no list of verbs has them all: "we repaired", "hat … repariert", "a réparé", "reparó".
"""

from __future__ import annotations

import re

from memdir.text.phrases import anywhere, at_end

DATE = "…"  # stands for the date in its clause
_CLAUSE_END = re.compile(r"[.,;:!?]")
_FIRST_WORDS = 30  # characters behind a date in which its verb may stand: "On Monday the board has been"
_IS = re.compile(r"(?:\b(?:is|are|am|be)|['’](?:re|m))\s+$", re.IGNORECASE)
_PLANS = (
    r"(?:moved|postponed|rescheduled|pushed|cancell?ed|scheduled|planned)\b"  # of these the date may be the new one
)
_ED = rf"(?!hundred|{_PLANS})[a-z]*[aeiouy][a-z]*[^\W_e]ed\b"
_PARTICIPLE_DE = r"[a-zäöü]*ge[a-zäöüß]{2,}(?:t|en)|[a-zäöüß]+iert|(?:ver|be|er|ent|zer|über)[a-zäöüß]{2,}(?:t|en)"
_STATE_DE = "geöffnet|geschlossen|geplant"
_GONE_DE = r"ge(?:kommen|gangen|zogen|fahren|reist|flogen|fallen|storben|wesen|worden|blieben|laufen|treten|troffen)"
_FORMS = {
    "en": rf"(?i:\b(?:we|I|he|she|they|it|has|have)|['’]ve)\s+(?:(?:\w+ly|just|also|already|never|not)\s+)?{_ED}",
    "de": rf"\b(?:hat|haben|habe|habt)\b.*\b(?<!zu )(?!{_STATE_DE})(?:{_PARTICIPLE_DE})(?=\W*$|\sund\b)"
    rf"|\b(?:ist|sind|bin|seid)\b.*(?:{_GONE_DE}|passiert|worden)(?=\W*$|\sund\b)"
    rf"|(?:\b(?:er|sie|es|man|[A-ZÄÖÜ]\w+)|{DATE})\s(?!(?:soll|woll|könn|müss|dürf|möch|hät|bräuch|heu|bit|letz)te)"
    r"[a-zäöüß]{3,}te\b(?!\s[A-ZÄÖÜ])",
    "fr": r"\b(?:ai|as|a|avons|avez|ont)\s(?:(?:pas|déjà|enfin|bien)\s)?(?!congé|marché|côté)"
    r"(?:\w{2,}ée?s?|pris|mis|fait|dit|vu|eu|reçu|perdu|vendu|choisi|fini|ouvert|rendu)\b"
    r"|\b(?:est|sont|suis|sommes)\s(?:arriv|part|ven|all|entr|sort|n|tomb|rest|pass|reven|rentr)(?:é|i|u)e?s?\b"
    r"|(?i:\b(?:s['’]est|se sont|me suis|nous nous sommes))\s\w+ée?s?\b",
    "es": r"\b[a-zñ]{2,}ó\b|\b[a-zñ]{2,}(?:aron|ieron|jeron)\b|\b(?i:ha|han|he|hemos)\s\w+(?:ado|ido|cho|sto|rto)\b",
    "pt": r"\b(?!(?:est|[svd])ou\b|[mst]eu\b|muse|europe|lice)[a-zç]{2,}(?:ou|iu|eu)\b|\w+ámo(?:s|-nos)\b",
    "it": r"\b(?i:ho|hai|ha|abbiamo|hanno)\s(?:(?:già|appena|anche)\s)?(?!tutto|tanto|\w+mento)"
    r"\w+(?:ato|uto|ito|nto|tto|sto|rto|so)\b"
    r"|\b(?:è|sono|siamo)\s(?:\w+mente\s)?(?:stat|andat|arrivat|venut|partit|tornat|nat|mort|uscit|entrat|success)[oaie]\b"
    r"|(?i:\b(?:si è|si sono|ci siamo|mi sono))\s\w+t[oaie]\b|\b(?!può|ciò|però)\w{2,}[^\Wr]ò\b",
    "nl": r"\b(?:heeft|hebben|heb)\b.*\b(?<!een )(?<!het )(?<!de )(?:\w*ge|ver|be|ont|her)[a-z]{3,}(?:d|t|en)\b"
    r"|\b(?:is|zijn|ben)\b.*\b(?:\w*ge(?:komen|gaan|vallen|weest|worden|bleven|start)|verhuisd|vertrokken|begonnen)\b",
    "pl": r"\w(?:liśmy|łyśmy|łem|łam)\b|\w{3}[iyęą]ł[ao]?\b",
}
# What was decided in the past is done on the day: "we decided to close on Monday", "on a décidé de fermer lundi".
_OTHER_VERB = {
    "en": r"\bto (?!(?:the|an?|our|my|her|him|them|us|me|it)\b)[a-z]|\b(?:that|will|would)\b",
    "fr": r"\b(?:de |d['’]|à )\w+(?:er|ir|re)\b|\bqu(?:e\b|['’])",
    "es": r"\b(?:que|\w{2,}[aei]r)\b",
    "pt": r"\b(?:que|\w{2,}[aei]r)\b",
    "it": r"\b(?:che|di \w+re)\b",
    "nl": r"\b(?:dat|om|te)\b",
    "pl": r"\b(?:że|\w+ć)\b",
}
_NOW = re.compile(
    r"\b(?:is|are|am|be|will|can|must|should|may|might|would|could|shall|to|needs?|wants?)\b|['’](?:ll|re|m)\b", re.I
)
_MAYBE = {
    "en": rf"^\W*(?:[A-Z][\w-]+|(?i:the|our|my|his|her|their)(?:\s[\w-]+){{1,2}}?)\s{_ED}"
    rf"|^\W*{_ED} by\b|(?i:\b(?:we|I|they|he|she))\s{_PLANS}|\b(?:said|told)\b",
    "pl": r"\w{2}ał[ao]?\b",
}


def tells_past(before: str, after: str, language: str) -> bool:
    """Whether the clause that a date stands in plainly tells the past."""
    lead, rest = _CLAUSE_END.split(before)[-1], _CLAUSE_END.split(after if before.strip() else after.lstrip(" ,"))[0]
    if at_end("toward", language).search(lead):
        return False
    words = anywhere("tells-past", language)
    told = words.search(lead) or words.search(DATE + rest[:_FIRST_WORDS]) or _form(_FORMS, lead + DATE + rest, language)
    if not told or _IS.search(told.string[: told.start()]) or anywhere("one-event", language).search(told[0]):
        return False  # "we are closed" is now; of what was put off the date may be the new one
    return not _form(_OTHER_VERB, told.string[told.end() :].partition(DATE)[0], language)


def may_tell_past(clause: str, language: str) -> bool:
    """Whether a word in the clause looks like a verb of the past and may be none: "the council rejected it"."""
    return _form(_MAYBE, clause, language) is not None and not _NOW.search(clause)


def _form(forms: dict[str, str], clause: str, language: str) -> re.Match[str] | None:
    return re.search(forms[language], clause) if language in forms else None
