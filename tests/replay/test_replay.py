"""`redraft replay`: the figures, the JSON, a person's own pairs, and what is wrong with the input."""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import tiny_models
import torch
from redraft.bench.random_model import byte_tokenizer
from redraft.cli.replay import ReplayOptions, run_replay
from redraft.drafting.classes import classes_of
from redraft.drafting.length import CostCurve
from redraft.engine.vocabulary import Vocabulary
from redraft.model.cost import MeasuredCost
from redraft.replay.curves import read_curve
from redraft.replay.pairs import Pair
from redraft.replay.run import DRAFTERS, WITH_MODEL, Table, replay, summarize
from redraft.replay.tokenizer import Tokens
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

command = importlib.import_module("redraft.cli.replay")  # the package has a command of the same name
PLAIN = [name for name in DRAFTERS if name != WITH_MODEL]
POINTS = [[1, 1.0], [16, 2.0], [64, 4.0], [256, 13.0]]
CURVE = CostCurve(tuple((queries, cost) for queries, cost in POINTS))
LINES = [f"{number}: the committee met on day {number} and agreed to meet again.\n" for number in range(12)]
FIRST, SECOND = "The quick brown fox jumps over a lazy dog.\n", "4711 0815 1234567890 007 (1492)\n"
PAIRS = [
    Pair("one", "".join(LINES), "".join([*LINES[:4], "Then it rained.\n", *LINES[5:]]), "minutes"),
    Pair("two", FIRST + SECOND, SECOND + FIRST, "minutes"),
    Pair("ü", "abc", "Nothing of it.", "other"),
]
KEYS = {
    "id", "kind", "drafter", "output_tokens", "passes", "drafted", "accepted", "drafted_per_pass", "accepted_per_pass",
    "cost", "modelled_speedup", "coverage", "oracle_coverage", "missed", "runs",
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer():
    """A token a byte, so that the figures can be counted."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({**{c: n for n, c in enumerate(alphabet)}, "<end>": 256}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<end>")


@pytest.fixture(scope="module")
def table(tokenizer):
    vocabulary = Vocabulary(tokenizer)
    return Table(Tokens(vocabulary, classes_of(vocabulary.texts()), 256), CURVE)


@pytest.fixture
def options(tmp_path, tokenizer):
    folder, pairs, curve = tmp_path / "tokenizer", tmp_path / "pairs.jsonl", tmp_path / "curve.json"
    tokenizer.save_pretrained(folder)
    rows = ({"id": pair.id, "before": pair.before, "after": pair.after, "kind": pair.kind} for pair in PAIRS)
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    curve.write_text(json.dumps({"points": POINTS}))
    return ReplayOptions((pairs,), str(folder), curve, as_json=True)


def printed(capsys):
    """(pairs, summaries) as they were printed."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [one for one in lines if "summary" not in one], [one["summary"] for one in lines if "summary" in one]


def test_the_figures_without_drafts(table):
    results = list(replay(PAIRS, ["none"], table))
    assert [result.play.output_tokens for result in results] == [len(pair.after) + 1 for pair in PAIRS]
    assert all(result.play.speedup == pytest.approx(1.0) for result in results)
    assert results[2].coverage == 0
    kept = sum(map(len, LINES[:4] + LINES[5:]))
    assert results[0].kept >= kept
    assert results[0].oracle_coverage >= kept / results[0].play.output_tokens
    assert results[1].oracle_coverage < 0.7 < results[1].coverage  # what was moved is reused, but in no common order


def test_every_drafter_has_a_name_and_plays(table):
    results = list(replay(PAIRS, PLAIN, table))
    assert [(r.id, r.drafter) for r in results] == [(pair.id, name) for pair in PAIRS for name in PLAIN]
    for result in results:
        costs = CURVE.costs(1, 256)
        assert result.play.cost == pytest.approx(sum(costs[drafted] for drafted in result.play.drafted))
        same = [other for other in results if other.id == result.id]
        assert len({(o.coverage, o.oracle_coverage, o.play.output_tokens) for o in same}) == 1
    best = {r.drafter: r.play.speedup for r in results if r.id == "one"}
    assert best["redraft"] > best["suffix-4"] > best["prompt-lookup"] > best["none"]


def test_replay_is_deterministic(table):
    assert list(replay(PAIRS, ["redraft"], table)) == list(replay(PAIRS, ["redraft"], table))


def test_without_learning_pairs_do_not_touch_each_other(table):
    alone = replace(table, learning=False)
    forwards, backwards = (list(replay(pairs, ["redraft"], alone)) for pairs in (PAIRS * 3, PAIRS[::-1]))
    assert forwards[:3] == forwards[3:6] == backwards[::-1]
    learned = list(replay(PAIRS * 3, ["redraft"], table))
    assert learned[0] == forwards[0]
    assert learned[6:] != forwards[6:]


def test_the_summary(table):
    results = list(replay(PAIRS, ["suffix-4"], table))
    summary = summarize(results)
    speedups = [result.play.speedup for result in results]
    assert summary.geometric_mean == pytest.approx(math.prod(speedups) ** (1 / 3))
    assert (summary.worst, summary.worst_pair) == (min(speedups), "ü")
    assert summary.by_kind["minutes"] == pytest.approx(math.sqrt(speedups[0] * speedups[1]))
    assert summary.by_kind["other"] == pytest.approx(speedups[2])
    rejected = sum(sum(result.play.drafted) - sum(result.play.accepted) for result in results)
    assert summary.waste == pytest.approx(rejected / summary.output_tokens)
    assert summary.missed_per_run == pytest.approx(
        sum(r.play.missed for r in results) / sum(r.play.runs for r in results)
    )


def test_json_has_an_object_a_pair_then_the_summary(options, capsys):
    assert run_replay(options) == 0
    pairs, summaries = printed(capsys)
    assert [(one["id"], one["kind"], one["drafter"]) for one in pairs] == [(p.id, p.kind, "redraft") for p in PAIRS]
    for one in pairs:
        assert set(one) == KEYS
        assert one["passes"] == len(one["drafted_per_pass"]) == len(one["accepted_per_pass"])
        assert one["drafted"] == sum(one["drafted_per_pass"])
        assert one["accepted"] == sum(one["accepted_per_pass"])
        assert one["modelled_speedup"] == pytest.approx(one["output_tokens"] / one["cost"])
    (summary,) = summaries
    assert summary["geometric_mean"] == pytest.approx(math.prod(one["modelled_speedup"] for one in pairs) ** (1 / 3))
    assert summary["drafter"] == "redraft"
    assert summary["pairs"] == 3


def test_drafters_stand_side_by_side(options, capsys):
    wanted = replace(options, drafters=("suffix-4", "redraft", "suffix-4"))
    assert run_replay(wanted) == 0
    pairs, summaries = printed(capsys)
    assert (
        [one["drafter"] for one in pairs[:2]]
        == [summary["drafter"] for summary in summaries]
        == ["suffix-4", "redraft"]
    )
    assert run_replay(replace(wanted, as_json=False)) == 0
    out = capsys.readouterr().out
    for one in pairs:
        row = next(line for line in out.splitlines() if line.split()[1:2] == [one["id"]])
        assert f"{one['modelled_speedup']:.2f}x" in row
    for summary in summaries:
        row = next(line for line in out.splitlines() if line.split()[1:2] == [summary["drafter"]])
        assert f"{summary['geometric_mean']:.2f}x" in row
        assert summary["worst_pair"] in row


def test_all_means_every_drafter(options, capsys):
    assert run_replay(replace(options, drafters=("all",))) == 0
    assert [summary["drafter"] for summary in printed(capsys)[1]] == PLAIN


def test_two_folders_are_played(options, tmp_path, capsys):
    for name, text in (("old", PAIRS[0].before), ("new", PAIRS[0].after)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.md").write_text("same")
        (tmp_path / name / "minutes.md").write_text(text)
    assert run_replay(replace(options, pairs=(), before=tmp_path / "old", after=tmp_path / "new")) == 0
    captured = capsys.readouterr()
    assert "left out: 1 unchanged" in captured.err
    first = json.loads(captured.out.splitlines()[0])
    assert (first["id"], first["kind"], first["output_tokens"]) == ("minutes.md", "md", len(PAIRS[0].after) + 1)


def test_folders_with_nothing_changed_are_an_error(options, tmp_path, capsys):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.md").write_text("same")
    assert run_replay(replace(options, pairs=(), before=tmp_path / "old", after=tmp_path / "new")) == 1
    assert "every pair was left out (1 unchanged)" in capsys.readouterr().err


def test_a_file_in_git_is_played(options, tmp_path, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(command, "git_pairs", lambda *args: asked.append(args) or command.OwnPairs((PAIRS[0],), 0, 0))
    wanted = replace(options, pairs=(), git=tmp_path, file="a.md")
    assert run_replay(wanted) == 0
    assert run_replay(replace(wanted, revisions="v1..v2")) == 0
    assert asked == [(tmp_path, "a.md", "HEAD"), (tmp_path, "a.md", "v1..v2")]
    assert [one["id"] for one in printed(capsys)[0]] == ["one", "one"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": ()}, "give PAIRS.jsonl files"),
        ({"git": "repository", "file": "a"}, "give PAIRS.jsonl files"),
        ({"pairs": (), "before": "a"}, "--before needs --after"),
        ({"pairs": (), "git": "a"}, "--git needs --file"),
        ({"pairs": (), "revisions": "a..b"}, "--git needs --file"),
        ({"drafters": ("redraft+model",)}, "redraft+model needs --draft-model"),
        (
            {"drafters": ("suffix-5",)},
            "no drafter is called 'suffix-5'; there are redraft, redraft+model",
        ),
    ],
)
def test_wrong_usage_is_named(options, capsys, changes, message):
    assert run_replay(replace(options, **changes)) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no pair"),
        (b'{"before": "a", "after": "b"}\n{"before": "a"}\n', "pairs.jsonl:2: not a pair"),
        (b"not json\n", "pairs.jsonl:1: not a pair"),
        (b'{"id": "x", "before": 5, "after": "b"}\n', "pair x: before and after must be text"),
        (b'{"id": "x", "before": "a", "after": "\\ud800"}\n', "pair x: before and after must be text"),
        (b'{"before": "caf\xe9", "after": "b"}\n', "pairs.jsonl is not UTF-8: byte 15"),
    ],
)
def test_bad_pairs_are_named(options, capsys, content, message):
    options.pairs[0].write_bytes(content)
    assert run_replay(options) == 1
    assert message in capsys.readouterr().err


def test_a_missing_file_and_a_missing_tokenizer_are_named(options, tmp_path, capsys):
    assert run_replay(replace(options, pairs=(tmp_path / "none.jsonl",))) == 1
    assert "No such file" in capsys.readouterr().err
    assert run_replay(replace(options, tokenizer=str(tmp_path / "nowhere"))) == 1
    assert "no such folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        '{"points": []}', '{"points": [[1, "dear"]]}', '{"points": [[2, 1.0], [1, 2.0]]}', '{"points": [[1, 0.0]]}',
        '{"points": [[1, NaN]]}', '{"points": [[1]]}', '{"point": [[1, 1.0]]}', "[]", "no json",
    ],
)  # fmt: skip
def test_a_file_that_is_no_cost_curve_is_named(options, tmp_path, capsys, content):
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    with pytest.raises(ValueError, match="not a cost curve"):
        read_curve(bad)
    assert run_replay(replace(options, cost_curve=bad)) == 1
    assert "not a cost curve" in capsys.readouterr().err


def test_a_curve_is_read(tmp_path):
    (tmp_path / "curve.json").write_text('{"name": "x", "points": [[0, 1.0], [200, 2]]}')
    assert read_curve(tmp_path / "curve.json").points == ((0, 1.0), (200, 2.0))


def test_without_a_curve_it_says_how_to_get_one(options, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("REDRAFT_CACHE_DIR", str(tmp_path / "cache"))
    assert run_replay(replace(options, cost_curve=None)) == 1
    error = capsys.readouterr().err
    assert "no cost curve: give --cost-curve" in error
    assert "redraft serve" in error


def test_without_a_curve_the_measured_one_of_this_machine_is_used(options, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("REDRAFT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache" / "cost").mkdir(parents=True)
    (tmp_path / "cache" / "cost" / "some.json").write_text("{}")
    loaded = SimpleNamespace(target=object())
    monkeypatch.setattr(command, "load", lambda asked: loaded)
    dear = MeasuredCost(((1, 1.0), (2, 50.0), (257, 60.0)), 0.1, 0.0)
    monkeypatch.setattr(command, "measured_cost", lambda target: {id(loaded.target): dear}[id(target)])
    assert run_replay(replace(options, cost_curve=None)) == 0
    pairs, _ = printed(capsys)
    assert {(one["drafted"], one["modelled_speedup"]) for one in pairs} == {(0, 1.0)}


@pytest.fixture
def tiny_folder(tmp_path):
    """A tiny model with its tokenizer, as a folder that can be loaded."""
    model = tiny_models.build("llama", torch.float32)
    folder = tmp_path / "tiny"
    model.save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


def test_a_draft_model_is_run_in_the_gaps(options, tiny_folder, capsys):
    wanted = replace(options, tokenizer=str(tiny_folder), draft_model=str(tiny_folder))
    assert run_replay(replace(wanted, target_parameters=1e9)) == 0
    pairs, summaries = printed(capsys)
    assert [summary["drafter"] for summary in summaries] == ["redraft", "redraft+model"]
    flat = CURVE.costs(1, 256)
    for one in (pair for pair in pairs if pair["drafter"] == "redraft+model"):
        verified = sum(flat[drafted] for drafted in one["drafted_per_pass"])
        assert one["cost"] > verified  # the draft model's own passes are charged
    assert run_replay(replace(wanted, draft_model="early-exit", drafters=("redraft+model",))) == 0
    assert printed(capsys)[1][0]["pairs"] == 3


def test_a_draft_model_as_large_as_the_target_is_left_alone(options, tiny_folder, capsys):
    """Its passes cost as much as the target's: asking it could only lose."""
    parameters = sum(p.numel() for p in tiny_models.build("llama").parameters())
    wanted = replace(options, tokenizer=str(tiny_folder), draft_model=str(tiny_folder))
    assert run_replay(replace(wanted, target_parameters=float(parameters))) == 0
    ours, theirs = printed(capsys)[1]
    assert theirs["geometric_mean"] == pytest.approx(ours["geometric_mean"])
