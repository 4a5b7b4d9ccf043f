"""Collects source texts: replay pairs given by path, and texts and code of freely licensed installed packages."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from inspect import cleandoc
from pathlib import Path

from training.edits.base import Document, is_evaluation
from training.edits.text import paragraphs, prose_paragraphs
from training.edits.wording import listed

_FREE = re.compile(r"\b(MIT|BSD|Apache|PSF|Python Software Foundation|ISC)\b")
_CODE_PACKAGES = listed(
    "numpy scipy torch transformers networkx sympy rich textual click pydantic pytest requests "
    "jinja2 tokenizers safetensors typer peft accelerate anyio fsspec tomlkit structlog"
)
PROSE = "prose"
_MOST_FILES = 60  # of one package, so that the large ones do not drown the others
_MOST_CHARACTERS = 60_000
_SHORTEST = 80
_SHARED = 60  # characters: a paragraph of this length that two sources share makes them the same


@dataclass(frozen=True, slots=True)
class RealEdit:
    """A real edit of the replay pairs."""

    key: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Sources:
    """Texts of one side of the split."""

    documents: list[Document]
    real: list[RealEdit]


def collect(replay: Iterable[Path], evaluation: bool) -> Sources:
    """All sources of one side. replay: JSON-lines files of (before, after) pairs; may be empty.

    A document for evaluation that shares a paragraph with one for training is left out.
    """
    real = _replay(replay)
    # What was copy-edited had mistakes before.
    pairs = [Document(edit.key, kind, edit.after) for kind, edit in real]
    pairs += [Document(edit.key, kind, edit.before) for kind, edit in real if kind != PROSE]
    texts = [*pairs, *_readmes(), *_standard_library(), *_packages()]
    train = [document for document in texts if not is_evaluation(document.key)]
    known = {paragraph for document in train for paragraph in _long_paragraphs(document.text)}
    held_out = [document for document in texts if is_evaluation(document.key)]
    kept = [document for document in held_out if known.isdisjoint(_long_paragraphs(document.text))]
    chosen = kept if evaluation else train
    keys = {document.key for document in chosen}
    return Sources(chosen, [edit for _, edit in real if edit.key in keys])


def _long_paragraphs(text: str) -> set[str]:
    return {" ".join(text[a:b].split()) for a, b in paragraphs(text) if b - a >= _SHARED}


def _replay(files: Iterable[Path]) -> list[tuple[str, RealEdit]]:
    kinds = {"copyedit": PROSE, "email": "email", "code": "code", "markdown": "markdown", "structured": "config"}
    found = []
    for file in sorted(files):
        for line in file.read_text(encoding="utf-8").splitlines():
            pair = json.loads(line)
            # The pair's group stands for its file, so that all versions of a file are on one side.
            key = "replay:" + pair["id"].split("-")[1]
            kind = "other" if pair.get("lang", "en") != "en" else kinds.get(pair["kind"], _kind_of(pair["source"]))
            found.append((kind, RealEdit(key, pair["before"], pair["after"])))
    return found


def _kind_of(source: str) -> str:
    return "markdown" if ".md" in source else "code"


def _readmes() -> Iterator[Document]:
    """The descriptions in the metadata of installed packages with a free licence."""
    for distribution in sorted(metadata.distributions(), key=lambda item: item.name.lower()):
        text = str(distribution.metadata.json.get("description", ""))
        if len(text) > _SHORTEST and _is_free(distribution):
            yield Document(f"readme:{distribution.name}", "markdown", text.strip("\n"))


def _is_free(distribution: metadata.Distribution) -> bool:
    fields = ("License-Expression", "License", "Classifier")
    named = [str(value)[:200] for field in fields for value in distribution.metadata.get_all(field) or []]
    return any(_FREE.search(value) for value in named)


def _standard_library() -> Iterator[Document]:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [*root.glob("*.py"), *root.glob("*/*.py")]
    skipped = {"test", "site-packages", "idlelib", "lib2to3", "turtledemo", "encodings"}
    chosen = [file for file in files if not skipped & set(file.relative_to(root).parts)]
    yield from _python(root, "python", chosen)
    yield from _topics(root / "pydoc_data" / "topics.py")


def _topics(file: Path) -> Iterator[Document]:
    """The language reference, a text a topic, as a dictionary in a module of the standard library."""
    if not file.is_file():
        return
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            for name, text in zip(node.keys, node.values, strict=True):
                if isinstance(name, ast.Constant) and isinstance(text, ast.Constant):
                    yield Document(f"topic:{name.value!s}", "prose", _only_prose(str(text.value)))


def _packages() -> Iterator[Document]:
    root = Path(sysconfig.get_paths()["purelib"])
    for package in _CODE_PACKAGES:
        yield from _python(root, package, root.glob(f"{package}/**/*.py"))


def _python(root: Path, package: str, files: Iterable[Path]) -> Iterator[Document]:
    """The code and the docstrings' prose of a part of a package's files."""
    usable = [file for file in files if "test" not in file.as_posix() and 500 < file.stat().st_size < _MOST_CHARACTERS]
    for file in sorted(usable, key=lambda item: _shuffled(item.relative_to(root)))[:_MOST_FILES]:
        key = f"{package}:{file.relative_to(root).as_posix()}"
        text = file.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        yield Document(key, "code", text)
        prose = "\n\n".join(_docstrings(tree))
        if len(prose) > 2 * _SHORTEST:
            yield Document(key, "prose", prose)


def _shuffled(path: Path) -> str:
    return hashlib.sha256(path.as_posix().encode()).hexdigest()


def _docstrings(tree: ast.Module) -> Iterator[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented):
            text = _only_prose(cleandoc(ast.get_docstring(node) or ""))
            if len(text) > _SHORTEST:
                yield text


def _only_prose(text: str) -> str:
    return "\n\n".join(text[start:end] for start, end in prose_paragraphs(text) if end - start > 40)
