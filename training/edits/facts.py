"""Invented facts for texts: names, dates, times, prices, numbers, addresses, places."""

from __future__ import annotations

import random
from collections.abc import Callable

from training.edits.wording import listed

FIRST = listed(
    "Anna Ben Carla David Elena Felix Grace Hassan Ines Jonas Karin Liam Maria Nadia Oliver Paula Quentin "
    "Rosa Samuel Tanja Uwe Vera Walter Yusuf Zoe Amir Bettina Chen Diego Emma Fatima George Hannah Ivan "
    "Julia Kofi Laura Marek Nina Omar Priya Ravi Sofia Tom Ursula Victor Wendy Yuki Mark Jane Peter Lucy "
    "Robert Helen Alice Simon"
)
LAST = listed(
    "Weber Brown Rossi Novak Silva Schmidt Okafor Tanaka Fischer Green Moreau Jansen Kowalski Haddad "
    "Lindberg Costa Miller Patel Sato Baker Nielsen Meyer Clark Dubois Evans Farkas Gallo Hughes Ito Keller "
    "Larsen Mendes Owens Petrov Quinn Ramirez Stone Turner Vogel Wright Young Zeller Adams Bauer Carter Doyle"
)
CITIES = listed(
    "Berlin Madrid Vienna Oslo Dublin Lisbon Prague Zurich Munich Boston Chicago Denver Leeds Bristol Turin "
    "Lyon Ghent Tallinn Porto Hamburg Seattle Toronto Osaka Nairobi Sydney Krakow Utrecht Bergen"
)
STREETS = listed(
    "Mill Road|Station Street|Park Avenue|Harbour Lane|Church Street|Garden Way|Bridge Street|King Street|"
    "Oak Avenue|River Road|Market Square|High Street|Elm Drive|Castle Hill|School Lane|Forest Road",
    "|",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = listed("January February March April May June July August September October November December")
COMPANIES = listed(
    "Northwind Supplies|Blue Harbour Ltd|Fabrikon|Lumen Works|Alder & Co|Redwood Systems|Polar Freight|"
    "Quarry Media|Green Valley Foods|Orbit Travel|Summit Insurance|Copperline|Tidewater Bank|Maple Software",
    "|",
)
PRODUCTS = listed(
    "office chair|laptop stand|coffee machine|garden table|winter jacket|desk lamp|printer|bicycle|tent|"
    "phone case|keyboard|water filter|backpack|projector|monitor|bookshelf",
    "|",
)
PROJECTS = listed("Atlas Beacon Comet Delta Falcon Harbor Jupiter Lighthouse Mosaic Nimbus Orchid Pioneer")


def _date(dice: random.Random) -> str:
    day, month, year = dice.randint(1, 28), dice.choice(MONTHS), dice.randint(2021, 2031)
    forms = (f"{day} {month} {year}", f"{month} {day}, {year}", f"{day} {month}", f"{month} {day}")
    number = MONTHS.index(month) + 1
    return dice.choice((*forms, *forms, f"{year}-{number:02}-{day:02}", f"{day:02}/{number:02}/{year}"))


def _price(dice: random.Random) -> str:
    amount = dice.choice((dice.randint(5, 99), dice.randint(100, 999), dice.randint(1000, 9999)))
    text = f"{amount:,}" if dice.random() < 0.5 else f"{amount}"
    cents = dice.choice(("", "", ".50", ".99", ".00"))
    return dice.choice((f"${text}{cents}", f"€{text}{cents}", f"£{text}{cents}", f"{text} euros", f"USD {text}{cents}"))


def _time(dice: random.Random) -> str:
    hour, minute = dice.randint(1, 12), dice.choice((0, 15, 30, 45))
    forms = (f"{hour}:{minute:02} {dice.choice(('am', 'pm'))}", f"{hour + 7}:{minute:02}")
    return dice.choice((*forms, f"{dice.randint(1, 11)} {dice.choice(('am', 'pm'))}"))


def _address(dice: random.Random) -> str:
    return f"{dice.randint(1, 199)} {dice.choice(STREETS)}, {dice.choice(CITIES)}"


def _reference(dice: random.Random) -> str:
    return f"{dice.choice('ABCDKLMPRT')}{dice.choice('ABCDKLMPRT')}-{dice.randint(1000, 99999)}"


def _mail(dice: random.Random) -> str:
    return f"{dice.choice(FIRST).lower()}@{dice.choice(('example.com', 'example.org', 'example.net'))}"


FACTS: dict[str, Callable[[random.Random], str]] = {
    "name": lambda dice: f"{dice.choice(FIRST)} {dice.choice(LAST)}",
    "first": lambda dice: dice.choice(FIRST),
    "last": lambda dice: dice.choice(LAST),
    "date": _date,
    "day": lambda dice: dice.choice(DAYS),
    "time": _time,
    "price": _price,
    "number": lambda dice: str(dice.choice((dice.randint(2, 20), dice.randint(21, 400)))),
    "address": _address,
    "city": lambda dice: dice.choice(CITIES),
    "reference": _reference,
    "company": lambda dice: dice.choice(COMPANIES),
    "product": lambda dice: dice.choice(PRODUCTS),
    "project": lambda dice: dice.choice(PROJECTS),
    "mail": _mail,
}


def other_than(dice: random.Random, kind: str, value: str) -> str:
    """Another fact of the same kind."""
    while (new := FACTS[kind](dice)) == value:
        pass
    return new
