"""Invented configuration files in JSON, YAML, TOML and INI, and changes of their values."""

from __future__ import annotations

import copy
import json
import random

from training.edits.base import Change
from training.edits.facts import CITIES, FIRST, PROJECTS
from training.edits.wording import listed, say

Value = str | int | float | bool | list[str]
Tree = dict[str, dict[str, Value]]

_SECTIONS = listed(
    "server database logging cache mail storage auth worker client ui metrics backup search queue api build "
    "deploy scheduler"
)
_TEXTS: dict[str, tuple[str, ...]] = {
    "host": ("localhost", "0.0.0.0", "db.example.com", "mail.example.org", "10.0.0.5", "cache.example.net"),
    "level": ("debug", "info", "warning", "error"),
    "mode": ("fast", "safe", "strict", "relaxed"),
    "format": ("json", "text", "csv", "xml"),
    "path": ("/var/lib/app", "/srv/data", "/tmp/work", "./build", "/opt/service/files"),
    "user": ("admin", "service", "reader", "backup", "guest"),
    "version": ("1.4.2", "2.0.0", "0.9.17", "3.11", "5.2.1"),
    "url": (
        "https://example.com/api",
        "https://status.example.org",
        "http://localhost:3000",
        "https://cdn.example.net/v2",
    ),
    "region": ("eu-west", "us-east", "ap-south", "eu-central"),
    "log_file": ("app.log", "/var/log/service.log", "errors.txt"),
    "language": ("en", "de", "fr", "pl", "it"),
    "theme": ("dark", "light", "blue"),
    "owner": tuple(name.lower() for name in FIRST[:20]),
    "city": tuple(CITIES[:16]),
    "project": tuple(PROJECTS),
}
_NUMBERS = listed(
    "port timeout retries max_connections pool_size workers batch_size interval max_items ttl depth threads "
    "limit priority"
)
_SWITCHES = listed("enabled debug verbose use_tls compress read_only auto_reload strict cache_results dry_run secure")
_LISTS = {
    "tags": ["alpha", "beta", "stable", "nightly", "internal", "public"],
    "allowed": ["read", "write", "list", "delete", "admin"],
    "plugins": ["gzip", "auth", "trace", "search", "export"],
}


def _value(dice: random.Random, key: str) -> Value:
    if key in _TEXTS:
        return dice.choice(_TEXTS[key])
    if key in _LISTS:
        return dice.sample(_LISTS[key], dice.randint(1, 4))
    if key in _SWITCHES:
        return dice.random() < 0.5
    if key == "port":
        return dice.choice((80, 443, 3000, 5432, 6379, 8000, 8080, 9090))
    return dice.choice((dice.randint(1, 20), dice.randint(2, 60) * 10, dice.choice((0.5, 0.25, 1.5, 0.9))))


def tree(dice: random.Random, length: int) -> Tree:
    """Sections of settings, about `length` characters when written."""
    names = dice.sample(_SECTIONS, max(1, min(len(_SECTIONS), length // 150)))
    keys = [*_TEXTS, *_NUMBERS, *_SWITCHES, *_LISTS]
    sections = {}
    for name in names:
        chosen = dice.sample(keys, dice.randint(2, 8))
        sections[name] = {key: _value(dice, key) for key in chosen}
    return sections


def written(sections: Tree, style: str) -> str:
    """The settings as json, yaml, toml or ini."""
    if style == "json":
        return json.dumps(sections, indent=2, ensure_ascii=False)
    blocks = []
    for name, values in sections.items():
        head = f"{name}:" if style == "yaml" else f"[{name}]"
        blocks.append("\n".join([head, *(_line(key, value, style) for key, value in values.items())]))
    return ("\n" if style == "yaml" else "\n\n").join(blocks)


def _line(key: str, value: Value, style: str) -> str:
    if style == "yaml":
        if isinstance(value, list):
            return "\n".join([f"  {key}:", *(f"    - {item}" for item in value)])
        return f"  {key}: {_plain(value)}"
    if style == "toml":
        return f"{key} = {json.dumps(value, ensure_ascii=False)}"
    return f"{key} = {', '.join(value) if isinstance(value, list) else _plain(value)}"


def _plain(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def setting(dice: random.Random, text: str) -> Change:
    """A value set, a key renamed, removed or added, or a section removed. `text` only says how long it should be."""
    style, before = dice.choice(("json", "yaml", "toml", "ini")), tree(dice, len(text))
    after = copy.deepcopy(before)
    make = dice.choices((_set, _rename, _remove, _add, _drop), (6, 1.5, 1.5, 2, 0.5))[0]
    told = make(dice, after)
    return Change(written(before, style), told, written(after, style))


def same_setting(dice: random.Random, text: str) -> Change:
    """A value set that is set so already: nothing changes."""
    style, sections = dice.choice(("json", "yaml", "toml", "ini")), tree(dice, len(text))
    section, key = _any(dice, sections)
    where, value = _where(dice, sections, section, key), _plain_list(sections[section][key])
    return Change(
        written(sections, style),
        say(dice, (f"Set {where} to {value}.", f"Change {where} to {value}.")),
        written(sections, style),
    )


def _any(dice: random.Random, sections: Tree) -> tuple[str, str]:
    section = dice.choice(list(sections))
    return section, dice.choice(list(sections[section]))


def _where(dice: random.Random, sections: Tree, section: str, key: str) -> str:
    full = (
        f"{section}.{key}",
        f"{key} in the section {section}",
        f"{key} in {section}",
        f"the {key} of the {section}",
        f"{key} under {section}",
    )
    alone = sum(key in values for values in sections.values()) == 1
    return dice.choice((*full, key, f"`{key}`", f"the {key}", f"the value of {key}") if alone else full)


def _plain_list(value: Value) -> str:
    return ", ".join(value) if isinstance(value, list) else _plain(value)


def _set(dice: random.Random, sections: Tree) -> str:
    section, key = _any(dice, sections)
    old = sections[section][key]
    where = _where(dice, sections, section, key)
    if isinstance(old, bool):
        sections[section][key] = not old
        verb = ("Turn on", "Enable", "Switch on") if not old else ("Turn off", "Disable", "Switch off")
        value = _plain(not old)
        return say(dice, (f"{dice.choice(verb)} {where}.", f"Set {where} to {value}.", f"Change {where} to {value}."))
    while (new := _value(dice, key)) == old:
        pass
    sections[section][key] = new
    value = _plain_list(new)
    said = (
        f"Set {where} to {value}.", f"Change {where} to {value}.", f"Update {where} to {value}.",
        f"Use {value} for {where}.",
        f"Make {where} {value}.", f"Change {where} from {_plain_list(old)} to {value}.", f"Let {where} be {value}.",
    )  # fmt: skip
    return say(dice, said)


def _rename(dice: random.Random, sections: Tree) -> str:
    section, key = _any(dice, sections)
    new = f"{dice.choice(('new', 'default', 'main', 'primary', 'base'))}_{key}"
    where = _where(dice, sections, section, key).replace("the value of ", "")
    sections[section] = {new if name == key else name: value for name, value in sections[section].items()}
    return say(
        dice,
        (f"Rename {where} to {new}.", f"Rename the key {key} in {section} to {new}.", f"Call {where} {new} instead."),
    )


def _remove(dice: random.Random, sections: Tree) -> str:
    section, key = _any(dice, sections)
    where = _where(dice, sections, section, key).replace("the value of ", "")
    if len(sections[section]) == 1:
        return _set(dice, sections)
    del sections[section][key]
    return say(
        dice, (f"Remove {where}.", f"Delete {where}.", f"Delete the setting {key} in {section}.", f"Drop {where}.")
    )


def _add(dice: random.Random, sections: Tree) -> str:
    section = dice.choice(list(sections))
    key = dice.choice([name for name in (*_TEXTS, *_NUMBERS, *_SWITCHES) if name not in sections[section]])
    value = _value(dice, key)
    sections[section][key] = value
    plain = _plain(value)
    said = (
        f"Add {key} with the value {plain} at the end of {section}.", f"Add the setting {key} = {plain} to {section}.",
        f"In {section}, add {key} with the value {plain}.", f"Add {key}: {plain} under {section}, as the last one.",
    )  # fmt: skip
    return say(dice, said)


def _drop(dice: random.Random, sections: Tree) -> str:
    if len(sections) == 1:
        return _set(dice, sections)
    section = dice.choice(list(sections))
    del sections[section]
    return say(
        dice, (f"Remove the section {section}.", f"Delete the whole {section} section.", f"Drop {section} completely.")
    )
