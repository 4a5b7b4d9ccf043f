"""An edit as the ids that the model sees: the engine's own prompt, then the answer and its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz.distance import Indel
from redraft.engine.prompt import Prompter
from redraft.engine.request import EditRequest

from training.edits.base import Edit
from training.edits.generate import Generator
from training.edits.sources import collect


@dataclass(frozen=True, slots=True)
class Example:
    """ids: prompt, answer and end token; answer: how many of them, at the end, the loss looks at.

    decided: places in the answer, from 0, whose token is more than the document's next one.
    """

    ids: list[int]
    answer: int
    decided: frozenset[int] = frozenset()


def encoded(prompter: Prompter, end: int, edit: Edit) -> Example:
    """What an engine would have in its cache after it had written the wanted text and `end`."""
    prompt = prompter.build(EditRequest(edit.document, edit.instruction), lambda text: None).ids
    before, answer = prompter.document(edit.document).ids, [*prompter.document(edit.wanted).ids, end]
    return Example([*prompt, *answer], len(answer), decided([*before, end], answer))


def decided(before: Sequence[int], after: Sequence[int]) -> frozenset[int]:
    """Places in `after` that do not just copy on: what is new, and the first token of the copy behind an edit.

    The latter says where the edit ends; behind a deletion it is all there is of it.
    """
    places: set[int] = set()
    for op in Indel.opcodes(before, after):
        if op.tag != "equal":
            places.update(range(op.dest_start, min(op.dest_end + 1, len(after))))
    return frozenset(places)


def replay_files(paths: list[Path]) -> list[Path]:
    """Folders stand for the JSON-lines files in them."""
    return [file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]


@dataclass(slots=True)
class Stream:
    """Examples from the `index`-th on; `index` is all the state there is."""

    generator: Generator
    prompter: Prompter
    end: int
    longest: int  # tokens of a document
    index: int = 0

    @classmethod
    def open(
        cls, replay: list[Path], prompter: Prompter, end: int, seed: int, longest: int, evaluation: bool
    ) -> Stream:
        """The examples of one side of the split."""
        generator = Generator(collect(replay_files(replay), evaluation), seed, evaluation, longest)
        return cls(generator, prompter, end, longest)

    def __iter__(self) -> Iterator[Example]:
        while True:
            edit = self.generator.edit(self.index)
            self.index += 1
            example = encoded(self.prompter, self.end, edit)
            if example.answer <= 1.5 * self.longest and len(example.ids) - example.answer <= 1.5 * self.longest + 300:
                yield example

    def batch(self, tokens: int) -> list[Example]:
        """The next examples that have `tokens` ids together, at least one."""
        chosen: list[Example] = []
        for example in self:
            chosen.append(example)
            if sum(len(other.ids) for other in chosen) >= tokens:
                break
        return chosen
