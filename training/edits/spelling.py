"""American and British spelling of common words."""

from __future__ import annotations

import random
import re

from training.edits.base import Change
from training.edits.errors import cased
from training.edits.text import substituted, words
from training.edits.wording import listed, say

_PAIRS: list[tuple[str, str]] = [
    (pair.partition("/")[0], pair.partition("/")[2])
    for pair in listed(
        "color/colour colors/colours colored/coloured colorful/colourful behavior/behaviour behaviors/behaviours "
        "favor/favour favors/favours favorite/favourite favorites/favourites honor/honour honors/honours "
        "labor/labour neighbor/neighbour neighbors/neighbours neighborhood/neighbourhood humor/humour "
        "rumor/rumour harbor/harbour flavor/flavour flavors/flavours center/centre centers/centres "
        "centered/centred theater/theatre meter/metre meters/metres kilometers/kilometres liter/litre "
        "fiber/fibre defense/defence offense/offence catalog/catalogue catalogs/catalogues dialog/dialogue "
        "analog/analogue gray/grey traveled/travelled traveling/travelling traveler/traveller canceled/cancelled "
        "canceling/cancelling labeled/labelled labeling/labelling modeled/modelled modeling/modelling "
        "signaled/signalled fulfill/fulfil enrollment/enrolment skillful/skilful jewelry/jewellery "
        "aluminum/aluminium tire/tyre plow/plough program/programme programs/programmes mom/mum "
        "mustache/moustache analyze/analyse analyzed/analysed analyzes/analyses analyzing/analysing "
        "organize/organise organizes/organises organized/organised organizing/organising "
        "organization/organisation organizations/organisations realize/realise realizes/realises "
        "realized/realised recognize/recognise recognizes/recognises recognized/recognised apologize/apologise "
        "apologized/apologised summarize/summarise summarizes/summarises summarized/summarised finalize/finalise "
        "finalized/finalised emphasize/emphasise initialize/initialise initializes/initialises "
        "initialized/initialised initializing/initialising initialization/initialisation normalize/normalise "
        "normalizes/normalises normalized/normalised normalization/normalisation optimize/optimise "
        "optimizes/optimises optimized/optimised optimization/optimisation customize/customise "
        "customized/customised customization/customisation serialize/serialise serialized/serialised "
        "serialization/serialisation specialized/specialised utilize/utilise utilized/utilised minimize/minimise "
        "minimizes/minimises minimized/minimised maximize/maximise maximized/maximised visualize/visualise "
        "visualization/visualisation generalize/generalise generalized/generalised standardized/standardised "
        "prioritize/prioritise characterize/characterise categorize/categorise authorize/authorise "
        "authorized/authorised authorization/authorisation synchronize/synchronise synchronized/synchronised "
        "capitalize/capitalise capitalized/capitalised parameterized/parameterised penalize/penalise "
        "tokenize/tokenise memorize/memorise criticize/criticise criticized/criticised"
    )
]
TO_BRITISH = dict(_PAIRS)
TO_AMERICAN = {british: american for american, british in _PAIRS}
_AMBIGUOUS = {"analyses", "metre", "metres", "dialogue", "tire", "tyre"}
_BRITISH = (
    "Use British spelling.", "Change the spelling to British English.", "Convert to British English spelling.",
    "Make the spelling British.", "Switch to UK spelling.", "Write it in British spelling.", "Use UK English spelling.",
    "Change American spelling to British spelling.", "Rewrite with British spellings.", "Use British English.",
)  # fmt: skip
_AMERICAN = (
    "Use American spelling.", "Change the spelling to American English.", "Convert to American English spelling.",
    "Make the spelling American.", "Switch to US spelling.", "Write it in American spelling.",
    "Use US English spelling.",
    "Change British spelling to American spelling.", "Rewrite with American spellings.", "Use American English.",
)  # fmt: skip
_WORD = re.compile(r"\b[A-Za-z]{3,}\b")


def to_british(dice: random.Random, text: str) -> Change | None:
    """American words to British ones; the text is made American first."""
    return _change(dice, respelt(text, TO_AMERICAN), TO_BRITISH, _BRITISH)


def to_american(dice: random.Random, text: str) -> Change | None:
    """British words to American ones; the text is made British first."""
    return _change(dice, respelt(text, TO_BRITISH), TO_AMERICAN, _AMERICAN)


def already(dice: random.Random, text: str) -> Change | None:
    """A text that is spelt so already."""
    british = dice.random() < 0.5
    text = respelt(text, TO_BRITISH if british else TO_AMERICAN)
    other = respelt(text, TO_AMERICAN if british else TO_BRITISH)
    return (
        Change(text, say(dice, _BRITISH if british else _AMERICAN), text)
        if other != text or dice.random() < 0.5
        else None
    )


def _change(dice: random.Random, text: str, table: dict[str, str], templates: tuple[str, ...]) -> Change | None:
    wanted = respelt(text, table)
    if wanted == text or {match[0].lower() for match in words(text)} & _AMBIGUOUS or _unknown(wanted, table):
        return None
    return Change(text, say(dice, templates), wanted)


def _unknown(text: str, table: dict[str, str]) -> bool:
    """Whether words are left that the table does not know but a reader would change too."""
    pattern = (
        r"\b\w{3,}(?:iz(?:e[sd]?|ing|ations?)|yz(?:e[sd]?|ing))\b"
        if table is TO_BRITISH
        else r"\b\w{4,}is(?:e[sd]|ations?)\b"
    )
    left = [
        word
        for word in re.findall(pattern, text)
        if not re.match(r"(?i)(re)?s(ize|eiz)|prize|resize|capsiz|horizo", word)
    ]
    return any(word.lower() not in table for word in left) and table is TO_BRITISH


def respelt(text: str, table: dict[str, str]) -> str:
    """The words of the table changed, outside code and links."""

    def new(match: re.Match[str]) -> str:
        return cased(match[0], table[match[0].lower()]) if match[0].lower() in table else match[0]

    return substituted(_WORD, new, text)
