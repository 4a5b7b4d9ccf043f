"""The command line, `redraft --help`. Heavy imports happen inside the commands."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Rewrite documents with a language model that uses the document itself as its speculative draft.",
)
models = typer.Typer(no_args_is_help=True, help="The demo model: where it is, and how to name another.")
app.add_typer(models, name="models")


class BenchMode(StrEnum):
    """What `redraft bench` measures."""

    FREE = "free"
    FORCED = "forced"
    UNRELATED = "unrelated"
    OVERHEAD = "overhead"


Found = TypeVar("Found")
Model = Annotated[str, typer.Option(help="demo, a GGUF file, a local folder or a hub id.")]


@app.command(epilog="Options come from the defaults, the TOML file, REDRAFT_SECTION__OPTION variables, then flags.")
def serve(
    listen: Annotated[str | None, typer.Option(help="host:port on loopback; port 0 picks a free one.")] = None,
    socket: Annotated[Path | None, typer.Option(help="Unix socket instead of the default one.")] = None,
    no_socket: Annotated[bool, typer.Option("--no-socket", help="Listen on TCP only.")] = False,
    model: Annotated[str | None, typer.Option(help="demo, a GGUF file, a folder, a hub id or scripted:PAIRS.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    dtype: Annotated[str | None, typer.Option(help="float32 or bfloat16; by device if unset.")] = None,
    adapter: Annotated[str | None, typer.Option(help="A LoRA's folder, or none; the demo has its own.")] = None,
    draft_model: Annotated[
        str | None, typer.Option(help="A small model for what the document has not, or early-exit: the first layers.")
    ] = None,
    prompt_template: Annotated[Path | None, typer.Option(help="A Jinja chat template.")] = None,
    grace: Annotated[float | None, typer.Option(help="Seconds running edits get when the server stops.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file instead of the user's.")] = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Print every option and stop.")] = False,
) -> None:
    """Serve edits over gRPC until SIGTERM or Ctrl-C; running edits then get --grace seconds."""
    from redraft.config import ConfigError, load_settings, print_settings

    use_socket = False if no_socket else None
    flags: dict[str, dict[str, Any]] = {
        "serve": {"listen": listen, "socket": socket, "use_socket": use_socket, "grace": grace},
        "model": {
            "name": model,
            "device": device,
            "dtype": dtype,
            "adapter": adapter,
            "draft_model": draft_model,
            "prompt_template": prompt_template,
        },
    }
    try:
        settings = load_settings(config, flags)
    except ConfigError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    if print_config:
        typer.echo(print_settings(settings), nl=False)
        return
    from redraft.cli.serve import run_server

    raise typer.Exit(run_server(settings))


@app.command(
    epilog="Exit codes: 0 done, 1 error, 2 usage, 3 the rewrite was cut and nothing was written, "
    "4 no connection, 130 interrupted. Example: redraft edit letter.txt -i 'Correct the spelling' --in-place"
)
def edit(
    file: Annotated[str, typer.Argument(help="The document; - reads standard input.")],
    instruction: Annotated[str, typer.Option("--instruction", "-i", help="What to change.")],
    server: Annotated[str | None, typer.Option(help="host:port or unix:PATH of a running server.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the document here.")] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace the file, atomically.")] = False,
    partial: Annotated[bool, typer.Option("--partial", help="Write even if the rewrite was cut.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    no_draft: Annotated[bool, typer.Option("--no-draft", help="Decode without drafts.")] = False,
    selection: Annotated[str | None, typer.Option(help="Rewrite lines L1:L2 only (from 1, inclusive).")] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same text.")] = None,
    temperature: Annotated[float | None, typer.Option(help="0 is greedy.")] = None,
    max_output_tokens: Annotated[int | None, typer.Option(help="Cut the rewrite after so many tokens.")] = None,
    unwrap: Annotated[bool, typer.Option(help="Drop a code fence or preamble around the rewrite.")] = True,
    preserve_frame: Annotated[bool, typer.Option(help="Keep outer white space and line endings.")] = True,
    model: Model = "demo",
    diff: Annotated[bool, typer.Option("--diff", help="Print a unified diff.")] = False,
    draft_limit: Annotated[int | None, typer.Option(help="Most draft tokens a pass (1 to 256).")] = None,
    reference: Annotated[list[Path] | None, typer.Option(help="A further text that may be drafted from.")] = None,
) -> None:
    """Rewrite one document. Without --server: the running local server, else an engine in this process."""
    from redraft.cli.edit import EditOptions, run_edit

    options = EditOptions(
        file, instruction, server, output, in_place, partial, as_json, no_draft, selection, seed, temperature,
        max_output_tokens, unwrap, preserve_frame, model, diff, draft_limit, tuple(reference or ()),
    )  # fmt: skip
    raise typer.Exit(run_edit(options))


@app.command(epilog="Example: python bench/edited_pairs.py > pairs.jsonl && redraft bench --pairs pairs.jsonl")
def bench(
    pairs: Annotated[Path, typer.Option(help="JSON lines of {id, before, after}.")],
    mode: Annotated[BenchMode, typer.Option(help="What to measure.")] = BenchMode.FORCED,
    model: Model = "demo",
    limit: Annotated[int | None, typer.Option(help="Only the first so many pairs.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Interleaved runs of each contender.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="One object a document, then the summary.")] = False,
) -> None:
    """Measure wall time. Run it on an idle machine.

    free: transformers and redraft while each writes what the model wants, greedily.
    forced: transformers (greedy, prompt lookup) and redraft while each emits the same given rewrite.
    unrelated: redraft with and without drafts on an output that shares nothing with the first document.
    overhead: our own Python outside the forward, as a share of a one-token pass.
    """
    from redraft.cli.bench import BenchOptions, run_bench

    raise typer.Exit(run_bench(BenchOptions(mode.value, pairs, model, limit, repeats, as_json)))


@app.command(
    epilog="Example: redraft explain old.md new.md --html explained.html. A kind is what the survival table learns by: "
    "copy/run/confidence/rate, gap/tokens since/left out/rate, self (n-grams), swapping (a replacement under way), ref."
)
def explain(
    before: Annotated[Path, typer.Argument(help="The document.")],
    after: Annotated[Path, typer.Argument(help="Its rewrite, played as if the target had chosen it.")],
    tokenizer: Annotated[str, typer.Option(help="demo, a folder or a hub id.")] = "demo",
    cost_curve: Annotated[
        Path | None, typer.Option(help="Costs of a pass by its tokens; a large GPU model's if unset.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the alignment path as a picture here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One object a pass, then the summary.")] = False,
    from_token: Annotated[int, typer.Option(min=0, help="Print from the pass that emits this output token on.")] = 0,
    passes: Annotated[int | None, typer.Option(min=0, help="Print only so many passes.")] = None,
    reference: Annotated[list[Path] | None, typer.Option(help="A further text that may be drafted from.")] = None,
) -> None:
    """Show pass by pass what would be drafted from where, what would be accepted, and where sync is lost and found."""
    from redraft.cli.explain import ExplainOptions, run_explain

    options = ExplainOptions(
        before, after, tokenizer, cost_curve, html, as_json, from_token, passes, tuple(reference or ())
    )
    raise typer.Exit(run_explain(options))


@app.command(
    epilog="Your own edits: --before OLD --after NEW plays files at the same path in two folders; --git REPO --file "
    "PATH [--revisions A..B] plays the versions of a file. --drafter all sets every known rule beside ours; "
    'CURVE.json is {"points": \\[\\[query_tokens, cost], …]}, costs in one-token passes.'
)
def replay(
    pairs: Annotated[list[Path] | None, typer.Argument(help="JSON lines of {id, before, after, kind}.")] = None,
    tokenizer: Annotated[str, typer.Option(help="demo, a folder or a hub id.")] = "demo",
    cost_curve: Annotated[
        Path | None, typer.Option(help="Costs of a pass by its tokens; the demo's on this machine if unset.")
    ] = None,
    drafter: Annotated[list[str] | None, typer.Option(help="redraft, a peer's rule, or all; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One object a pair and drafter, then the summaries.")] = False,
    learning: Annotated[bool, typer.Option(help="Learn from pair to pair, as a server does.")] = True,
    before: Annotated[Path | None, typer.Option(help="A folder of documents …")] = None,
    after: Annotated[Path | None, typer.Option(help="… and one of their rewrites, at the same paths.")] = None,
    git: Annotated[Path | None, typer.Option(help="A git repository …")] = None,
    file: Annotated[str | None, typer.Option(help="… and a file in it, each version against the one before.")] = None,
    revisions: Annotated[str | None, typer.Option(help="Which versions, as git log takes them.")] = None,
    draft_model: Annotated[
        str | None,
        typer.Option(help="Run this small model in gaps; early-exit: first layers of the model of --tokenizer."),
    ] = None,
    target_parameters: Annotated[float, typer.Option(min=1.0, help="Size of the target that it drafts for.")] = 7e9,
) -> None:
    """Play known rewrites as if the target had chosen them: what drafting would save, exactly, without a model."""
    from redraft.cli.replay import ReplayOptions, run_replay

    options = ReplayOptions(
        tuple(pairs or ()), tokenizer, cost_curve, tuple(drafter or ()), as_json, learning, before, after, git, file,
        revisions, draft_model, target_parameters,
    )  # fmt: skip
    raise typer.Exit(run_replay(options))


@models.command("list")
def list_models() -> None:
    """Show the demo model and what --model accepts."""
    from redraft.model.loading import converted_path, demo_file, is_converted

    gguf = _or_error(demo_file)
    state = f"converted: {converted_path(gguf)}" if is_converted(gguf) else "not converted yet"
    typer.echo(f"demo  SmolLM2-135M-Instruct, GGUF Q4_1, Apache-2.0  ({state})")
    typer.echo("--model also takes a GGUF file, a local folder or a hub id")


@models.command()
def fetch() -> None:
    """Convert the demo model into the cache."""
    from redraft.model.loading import resolve

    typer.echo(_or_error(lambda: resolve("demo")))


@models.command()
def path(model: Annotated[str, typer.Argument()] = "demo") -> None:
    """Print the folder that a model is loaded from."""
    from redraft.model.loading import resolve

    typer.echo(_or_error(lambda: resolve(model)))


def _or_error(find: Callable[[], Found]) -> Found:
    """What `find` returns; what it refuses is an error with exit code 1."""
    from redraft.errors import RedraftError

    try:
        return find()
    except RedraftError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


def main() -> None:
    """Console entry point."""
    app()
