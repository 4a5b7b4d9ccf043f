"""Puts errors into correct text: only such as a careful reader can undo without guessing."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from training.edits.facts import DAYS, MONTHS
from training.edits.text import Patch, free_matches, patched, sentences, words
from training.edits.wording import listed

MISSPELT = dict(
    pair.split("/")
    for pair in listed(
        "receive/recieve received/recieved separate/seperate definitely/definately necessary/neccessary "
        "until/untill which/wich because/becuase their/thier believe/beleive occurred/occured address/adress "
        "beginning/begining different/diffrent environment/enviroment example/exemple government/goverment "
        "immediately/immediatly interesting/intresting knowledge/knowlege library/libary maybe/mabye "
        "neighbour/nieghbour original/orginal particularly/particulary possible/posible probably/probaly "
        "really/realy recommend/reccomend really/realy referred/refered similar/similiar successful/succesful "
        "successfully/succesfully surprise/suprise tomorrow/tommorow truly/truely usually/usally weird/wierd "
        "writing/writting with/wiht would/woud should/shoud could/coud there/ther have/ahve before/befor "
        "after/aftr available/avaliable appointment/apointment business/buisness calendar/calender "
        "committee/commitee completely/completly convenient/convinient disappointed/dissapointed "
        "existence/existance experience/experiance finally/finaly following/folowing forward/foward "
        "further/furthur general/genral happened/happend however/howver information/infomation language/langauge "
        "maintenance/maintainance message/mesage occasion/ocassion parallel/paralel performance/performence "
        "preferred/prefered previous/previus privilege/priviledge publicly/publically questions/quetions "
        "responsible/responsable schedule/shedule something/somthing through/throught together/togther "
        "value/vlaue various/varius when/wehn where/wher while/whlie without/witout working/workng "
        "argument/arguement consistent/consistant dependent/dependant independent/independant specific/specfic "
        "function/funtion object/obejct returns/retruns default/defualt between/betwen provided/provded "
        "implementation/implemention method/metod instance/instence please/plese attached/atached "
        "colleagues/collegues delivery/delivary account/acount"
    )
)
_CONFUSED = (
    ("its", "it's"), ("your", "you're"), ("their", "there"), ("then", "than"), ("whose", "who's"), ("lose", "loose"),
    ("affect", "effect"), ("too", "to"), ("were", "where"), ("quite", "quiet"),
)  # fmt: skip
_AGREEMENT = (
    ("is", "are"), ("was", "were"), ("has", "have"), ("does", "do"), ("isn't", "aren't"), ("doesn't", "don't"),
)  # fmt: skip
_SINGULAR, _PLURAL = "it|he|she|this|that|everything|nobody|everybody|one of them", "they|we|you|these|those|both"
_DOUBLED = frozenset(
    listed("the a an is are to of in and that for with on it we you this be by as or at from have will")
)
_VERBS = listed(
    "takes makes returns uses means contains provides allows needs works gives shows comes costs covers "
    "begins ends leads brings knows looks helps calls creates holds sets reads writes runs defines represents"
)
_NEAR = "s v xv sf wr dg fh gj uo hk jl k nk bm ip o wa et ad ry yi cb qe zc tu x"  # keys beside a, b, ... z
_KEYS = dict(zip("abcdefghijklmnopqrstuvwxyz", listed(_NEAR), strict=True))


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of error; `find` gives every place where it can be made."""

    group: str  # spelling, grammar, punctuation
    weight: float
    find: Callable[[random.Random, str], list[Patch]]


def spoil(dice: random.Random, text: str, density: float, groups: tuple[str, ...]) -> str | None:
    """The text with about `density` errors a word, at least one, of these groups; None where it offers too few."""
    wanted = max(1, round(density * len(words(text))))
    kinds = [kind for kind in KINDS if kind.group in groups]
    places = [(kind.weight, kind.find(dice, text)) for kind in kinds]
    places = [(weight, found) for weight, found in places if found]
    patches: list[Patch] = []
    for _ in range(wanted * 4):
        if not places or len(patches) == wanted:
            break
        patch = dice.choice(dice.choices([found for _, found in places], [weight for weight, _ in places])[0])
        if all(patch[1] + 2 <= start or end + 2 <= patch[0] for start, end, _ in patches):
            patches.append(patch)
    return patched(text, patches) if len(patches) > wanted // 2 else None


def _typos(dice: random.Random, text: str) -> list[Patch]:
    found = [match for match in words(text) if len(match[0]) >= 5 and match[0].isascii() and match[0][1:].islower()]
    plain = [match for match in found if match[0].islower() or _opens(text, match.start())]
    return [(*match.span(), typo) for match in plain if (typo := _typo(dice, match[0])) != match[0]]


def _typo(dice: random.Random, word: str) -> str:
    at = dice.randrange(1, len(word) - 1)
    near = dice.choice(_KEYS.get(word[at], word[at]))
    return dice.choice(
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + near + word[at + 1 :],
            word[:at] + near + word[at:],
        )
    )


def _misspellings(dice: random.Random, text: str) -> list[Patch]:
    known = [match for match in words(text) if match[0].lower() in MISSPELT]
    return [(*match.span(), cased(match[0], MISSPELT[match[0].lower()])) for match in known]


def cased(like: str, word: str) -> str:
    """The word with the capitals of another: all, the first, or none."""
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def _doubled(dice: random.Random, text: str) -> list[Patch]:
    return [
        (m.end(), m.end(), f" {m[0]}") for m in words(text) if m[0] in _DOUBLED and text[m.end() : m.end() + 1] == " "
    ]


def _confused(dice: random.Random, text: str) -> list[Patch]:
    table = dict(_CONFUSED) | {right: left for left, right in _CONFUSED if right not in ("to", "quiet")}
    found = [match for match in words(text) if match[0].lower() in table]
    return [(*match.span(), cased(match[0], table[match[0].lower()])) for match in found]


def _agreement(dice: random.Random, text: str) -> list[Patch]:
    patches: list[Patch] = []
    for singular, plural in _AGREEMENT:
        for subject, right, wrong in ((_SINGULAR, singular, plural), (_PLURAL, plural, singular)):
            pattern = re.compile(rf"\b(?:{subject})\s+({right})\b", re.IGNORECASE)
            patches += [(*match.span(1), wrong) for match in free_matches(pattern, text)]
    verbs = re.compile(rf"\b(?:it|he|she|this|that|which|[a-z]+(?:on|er|or|ent|ing|od))\s+({'|'.join(_VERBS)})\b")
    return patches + [(*match.span(1), match[1][:-1]) for match in free_matches(verbs, text)]


def _articles(dice: random.Random, text: str) -> list[Patch]:
    vowel = free_matches(re.compile(r"\b([Aa])n(?=\s[aeio][a-z]{2})"), text)
    other = free_matches(re.compile(r"\b([Aa])(?=\s[bcdfgjklmnprstvw][a-z]{2})"), text)
    return [(*m.span(), m[1]) for m in vowel] + [(*m.span(), f"{m[1]}n") for m in other]


def _opens(text: str, start: int) -> bool:
    """Whether a sentence begins here."""
    return not text[:start].strip() or text[:start].rstrip()[-1:] in ".!?" or text[:start].endswith("\n\n")


def _capitals(dice: random.Random, text: str) -> list[Patch]:
    names = {*DAYS, *MONTHS, "I", "English", "French", "German"} - {"May", "March"}
    found = [m for m in words(text) if m[0] in names or (m[0].istitle() and len(m[0]) > 1 and _opens(text, m.start()))]
    return [(m.start(), m.start() + 1, m[0][0].lower()) for m in found]


def _marks(dice: random.Random, text: str) -> list[Patch]:
    ends = free_matches(re.compile(r"(?<=[a-z])[.,](?=\s|$)"), text)
    patches: list[Patch] = [(*match.span(), dice.choice((f" {match[0]}", match[0] * 2))) for match in ends]
    commas = free_matches(re.compile(r"(?<=[a-z]),(?= [a-z])"), text)
    patches += [(match.start(), match.end() + 1, ",") for match in commas]
    for start, end in sentences(text):
        if (
            text[end - 1] == "."
            and text[end : end + 2].strip(" ") == ""
            and text[end - 2].islower()
            and end - start > 20
        ):
            patches.append((end - 1, end, ""))
    return patches


def _apostrophes(dice: random.Random, text: str) -> list[Patch]:
    pattern = re.compile(r"\b\w+n(['’])t\b|\bI(['’])m\b|\b(?:you|they|we)(['’])(?:re|ve|ll)\b", re.IGNORECASE)
    found = free_matches(pattern, text)
    return [(match.start(match.lastindex or 0), match.end(match.lastindex or 0), "") for match in found]


def _spaces(dice: random.Random, text: str) -> list[Patch]:
    return [(m.start(), m.end(), "  ") for m in free_matches(re.compile(r"(?<=[a-z]) (?=[a-z])"), text)]


KINDS = (
    Kind("spelling", 5.0, _typos),
    Kind("spelling", 3.0, _misspellings),
    Kind("spelling", 1.5, _doubled),
    Kind("grammar", 2.0, _confused),
    Kind("grammar", 2.5, _agreement),
    Kind("grammar", 2.0, _articles),
    Kind("punctuation", 2.0, _capitals),
    Kind("punctuation", 2.0, _marks),
    Kind("punctuation", 1.0, _apostrophes),
    Kind("punctuation", 0.4, _spaces),
)
