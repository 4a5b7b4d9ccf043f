"""A more polite or more formal tone by rule: softeners, conditional wishes, formal verbs, salutations."""

from __future__ import annotations

import random
import re

from training.edits.base import Change
from training.edits.text import free_matches, patched
from training.edits.voice import contracted, expanded
from training.edits.wording import say

Rules = tuple[tuple[re.Pattern[str], str], ...]
"""Applied one after the other, outside code and links."""

_VERB = (
    "send|tell|call|give|show|write|bring|check|read|let|forward|use|find|fix|explain|finish|look|come|wait|save|test|"
    "pack|keep"
)
_BEFORE = r"(?:(?<=^)|(?<=[.!?] )|(?<=\n))"
_GREETING = r"\A(?:Hi|Hey|Hello) "


def _rules(*pairs: tuple[str, str]) -> Rules:
    return tuple((re.compile(pattern), new) for pattern, new in pairs)


_POLITE = _rules(
    (_BEFORE + rf"Please ({_VERB})\b([^.!?\n]*)[.!]", r"Could you please \1\2?"),
    (_BEFORE + rf"(?!Please)((?:{_VERB.title()}))\b([^.!?\n]*)[.!]", r"Could you please \1\2?"),
    (r"\bI want\b", "I would like"),
    (r"\b([Ww])e want\b", r"\1e would like"),
    (r"\bI expect\b", "I would be grateful for"),
    (r"\b([Yy])ou (?:must|have to)\b", r"\1ou would need to"),
    (r"\b(I|[Ww]e) need\b", r"\1 would need"),
    (r"\bCan you\b", "Could you please"),
    (r"\bWill you\b", "Would you please"),
    (r"\b([Ii])f you cannot\b", r"\1f you are unable to"),
    (_BEFORE + r"You can\b", "You are welcome to"),
    (r"\bWe cannot\b", "Unfortunately, we cannot"),
    (r"\bI cannot\b", "I am afraid that I cannot"),
    (r"\bnobody answered me\b", "I have not heard back"),
    (_GREETING, "Dear "),
    (r"\n\n(?:Cheers|Thanks|Regards),\n", "\n\nKind regards,\n"),
)
_FORMAL = _rules(
    (_GREETING, "Dear "),
    (r"\n\n(?:Cheers|Thanks|See you soon|All the best|Many thanks),\n", "\n\nYours sincerely,\n"),
    (r"\bThanks\b", "Thank you"),
    (r"\bMany thanks\b", "Thank you very much"),
    (r"\b([Aa]) lot of\b", r"\1 great deal of"),
    (r"\bSorry that\b", "I apologise that"),
    (r"\bget\b(?= (?:a|an|the|your|my|our)\b)", "receive"),
    (r"\bgets\b", "receives"),
    (r"\bask\b(?= about)", "enquire"),
    (r"\bhelp\b(?= (?:us|me|you)\b)", "assist"),
    (r"\b(your|my|our) help\b", r"\1 assistance"),
    (r"\bbuy\b", "purchase"),
    (r"\bbought\b", "purchased"),
    (r"\btell us\b", "inform us"),
    (r"\bshow\b(?= (?:that|how)\b)", "demonstrate"),
    (r"\blet me know\b", "inform me"),
    (r"\bIt broke\b", "It ceased to function"),
    (r"\babout an hour\b", "approximately one hour"),
    (r"\bbegins\b", "commences"),
    (r"\bneed\b(?! to\b)", "require"),
    (r"\bends\b", "concludes"),
    (r"\bmore about this\b", "further information on this"),
    (r"(?<!as )\bsoon\b(?!,)", "in the near future"),
    (r"\b(?<=[Yy]ou )cannot come\b", "are unable to attend"),
    (r"\bI want\b", "I would like"),
    (r"\bpick up\b", "collect"),
    (r"\bpick you up\b", "collect you"),
)
_SAY_POLITE = (
    "Make it more polite.", "Make this more polite.", "Make it polite.", "Rewrite it politely.",
    "Use a more polite tone.", "Soften the tone.", "Make it friendlier and more polite.",
    "Make the requests more polite.", "Sound more courteous.",
)  # fmt: skip
_SAY_FORMAL = (
    "Make it more formal.", "Make this more formal.", "Make it formal.", "Use a more formal tone.",
    "Rewrite it formally.", "Make it sound more professional.", "Use formal language.",
    "Make the tone more businesslike.", "Write it in a formal style.",
)  # fmt: skip


def polite(dice: random.Random, text: str) -> Change | None:
    """Requests softened, wishes in the conditional, a courteous frame."""
    return _by_rule(dice, contracted(text) if dice.random() < 0.3 else text, _POLITE, _SAY_POLITE)


def formal(dice: random.Random, text: str) -> Change | None:
    """Contractions out, a formal frame, formal verbs."""
    text = contracted(text)
    return _by_rule(dice, text, _FORMAL, _SAY_FORMAL, expanded(text))


def _by_rule(
    dice: random.Random, text: str, rules: Rules, templates: tuple[str, ...], begun: str | None = None
) -> Change | None:
    """begun: what the rules start from, if not the text itself."""
    wanted = text if begun is None else begun
    for pattern, new in rules:
        found = free_matches(pattern, wanted)
        wanted = patched(wanted, [(*match.span(), match.expand(new)) for match in found])
    wanted = re.sub(r"Could you please ([A-Z])", lambda m: f"Could you please {m[1].lower()}", wanted)
    return None if wanted == text else Change(text, say(dice, templates), wanted)
