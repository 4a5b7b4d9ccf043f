"""`redraft edit`: one document in, its rewrite out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from rich.console import Console
from rich.text import Text

from redraft.atomic import replace_file
from redraft.cli.logs import log_to_stderr
from redraft.cli.unified import lines_of, unified
from redraft.client import Client, ConnectionFailed, EditClient, EditResult, LocalClient, default_address
from redraft.client.channel import default_socket
from redraft.client.result import Collector
from redraft.engine.request import Drafting, DraftMode, EditRequest, Range, Sampling
from redraft.engine.results import Delta, Source
from redraft.errors import InvalidRange, MalformedRequest, ModelLoading, RedraftError

DONE, ERROR, CUT, NO_CONNECTION, INTERRUPTED = 0, 1, 3, 4, 130

_LOADING_SECONDS = 600.0  # a large model on a slow disk
_COLOURS = {Source.TARGET: "green", Source.SELF_COPY: "cyan", Source.DRAFT_MODEL: "magenta", Source.REFERENCE: "blue"}


@dataclass(frozen=True, slots=True)
class EditOptions:
    """What the command line said."""

    file: str
    instruction: str
    server: str | None = None
    output: Path | None = None
    in_place: bool = False
    partial: bool = False
    as_json: bool = False
    no_draft: bool = False
    selection: str | None = None
    seed: int | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    unwrap: bool = True
    preserve_frame: bool = True
    model: str = "demo"
    diff: bool = False
    draft_limit: int | None = None
    references: tuple[Path, ...] = ()

    @property
    def target(self) -> Path | None:
        """The file to write, if any."""
        return Path(self.file) if self.in_place else self.output


def run_edit(options: EditOptions) -> int:
    """Run one edit; returns the exit code."""
    errors = Console(stderr=True, highlight=False)
    log_to_stderr()
    try:
        _check_target(options)
        document = _read(options.file)
        request = _request(options, document)
        with _client(options, errors) as client:
            result = _stream(client, request, options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ConnectionFailed as error:
        errors.print(Text(f"error: {error}", style="red"))
        return NO_CONNECTION
    except (RedraftError, OSError, ValueError) as error:
        errors.print(Text(f"error: {error}", style="red"))
        return ERROR
    return _deliver(document, result, options, errors)


def _read(file: str) -> str:
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedRequest(f"{file} is not UTF-8: byte {error.start}") from None


def _check_target(options: EditOptions) -> None:
    """What can be known to fail before the work is done."""
    if options.in_place and options.file == "-":
        raise ValueError("--in-place needs a file")
    if options.in_place and options.output is not None:
        raise ValueError("--in-place and --output exclude each other")
    if options.target is not None and not options.target.resolve().parent.is_dir():
        raise ValueError(f"no such folder: {options.target.resolve().parent}")


def _request(options: EditOptions, document: str) -> EditRequest:
    return EditRequest(
        document=document,
        instruction=options.instruction,
        selection=_lines(document, options.selection) if options.selection else None,
        sampling=Sampling(
            seed=options.seed, temperature=options.temperature, max_output_tokens=options.max_output_tokens
        ),
        drafting=Drafting(DraftMode.OFF if options.no_draft else DraftMode.AUTO, options.draft_limit),
        references=tuple(_read(str(path)) for path in options.references),
        unwrap=options.unwrap,
        preserve_frame=options.preserve_frame,
    )


def _lines(document: str, selection: str) -> Range:
    first, _, last = selection.partition(":")
    if not (first.isdigit() and last.isdigit()):
        raise InvalidRange(f"--selection {selection}: expected L1:L2, two line numbers")
    lines = lines_of(document)
    if not 1 <= int(first) <= int(last) <= len(lines):
        raise InvalidRange(f"--selection {selection}: the document has lines 1 to {len(lines)}")
    start = sum(map(len, lines[: int(first) - 1]))
    return Range(start, start + sum(map(len, lines[int(first) - 1 : int(last)])))


@contextmanager
def _client(options: EditOptions, errors: Console) -> Iterator[EditClient]:
    """The named server, else the running local one, else an engine in this process."""
    remote = Client(options.server) if options.server else _running_server()
    if remote is not None:
        try:
            _wait_for_model(remote, errors)
            yield remote
        finally:
            remote.close()
        return
    from redraft.engine.service import load_service
    from redraft.model.loading import LoadOptions

    with errors.status("loading the model …"):
        service = load_service(LoadOptions(model=options.model))
    try:
        yield LocalClient(service)
    finally:
        service.stop()


def _wait_for_model(client: EditClient, errors: Console) -> None:
    """A server that was just started answers before its model is there."""
    try:
        client.get_model()
    except ModelLoading:
        with errors.status("the server is loading its model …"):
            client.wait_ready(_LOADING_SECONDS)


def _running_server() -> EditClient | None:
    """The local server, if one answers: the file of a dead server's socket may still be there."""
    if not os.environ.get("REDRAFT_SERVER") and not default_socket().exists():
        return None
    client = Client(default_address(), retries=0)
    try:
        client.get_model()
    except ModelLoading:
        return client
    except ConnectionFailed:
        client.close()
        return None
    return client


def _stream(client: EditClient, request: EditRequest, options: EditOptions) -> EditResult:
    """Collect the edit, painting it on a terminal as it comes."""
    console = Console(highlight=False, soft_wrap=True)
    paints = console.is_terminal and not options.as_json and not options.diff and options.target is None
    collector = Collector(request.document, request.selection)
    for event in client.edit(request):
        collector.add(event)
        if paints and isinstance(event, Delta):
            console.print(_painted(event), end="")
    return collector.result()


def _painted(delta: Delta) -> Text:
    """Kept text plain, the rest in its source's colour."""
    painted = Text()
    for span in delta.spans:
        start = span.output.start - delta.spans[0].output.start
        text = delta.text[start : start + span.output.end - span.output.start]
        painted.append(text, style="" if span.document else _COLOURS.get(span.source, "yellow"))
    return painted


def _deliver(document: str, result: EditResult, options: EditOptions, errors: Console) -> int:
    if options.as_json:
        print(json.dumps(_as_json(result), ensure_ascii=False))  # noqa: T201
    elif options.diff:
        _to_stdout(unified(document, result.document, options.file))
    elif options.target is None and not sys.stdout.isatty():
        _to_stdout(result.document)
    if result.finished is not None:
        errors.print(_summary(result), style="dim")
    if result.complete or options.partial:
        return _save(options.target, result.document, errors) if options.target is not None else DONE
    reason = result.reason.value if result.reason else "broken"
    errors.print(Text(f"the rewrite was cut ({reason}); nothing was written, --partial keeps it", style="yellow"))
    return CUT


def _save(target: Path, text: str, errors: Console) -> int:
    """Write the file; where that fails the text is not lost but printed."""
    try:
        replace_file(target, text.encode())
    except OSError as error:
        errors.print(Text(f"error: {error}; the rewrite follows on standard output", style="red"))
        _to_stdout(text)
        return ERROR
    return DONE


def _to_stdout(text: str) -> None:
    """Exactly this text: no newline is translated."""
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()


def _summary(result: EditResult) -> str:
    if result.finished is None:
        return ""
    stats = result.finished.stats
    each = stats.output_tokens / max(1, stats.passes)
    return (
        f"\n{stats.coverage:.0%} reused · {stats.output_tokens} tokens in {stats.passes} passes ({each:.1f} a pass) · "
        f"{stats.tokens_per_second:.0f} tokens/s · about {stats.estimated_speedup:.1f}x as fast as without drafts "
        "(an estimate)"
    )


def _as_json(result: EditResult) -> dict[str, object]:
    value = {
        "text": result.text,
        "document": result.document,
        "complete": result.complete,
        "finish_reason": result.reason,
        "edits": [asdict(edit) for edit in result.edits],
        "spans": [asdict(span) for span in result.spans],
        "statistics": asdict(result.finished.stats) if result.finished else None,
    }
    plain: dict[str, object] = _plain(value)
    return plain


def _plain(value: object) -> dict[str, object]:
    """Enums as their values, also where they are keys."""
    if isinstance(value, dict):
        return {str(_value(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]  # type: ignore[return-value]
    return _value(value)  # type: ignore[return-value]


def _value(value: object) -> object:
    return value.value if isinstance(value, Enum) else value
