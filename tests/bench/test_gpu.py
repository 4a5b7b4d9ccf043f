"""`bench/gpu.py` runs without a card, and its equality checks can fail."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
import torch
import typer
from redraft.model import runner
from typer.testing import CliRunner

PATH = Path(__file__).resolve().parents[2] / "bench" / "gpu.py"


@pytest.fixture(scope="module")
def gpu():
    specification = importlib.util.spec_from_file_location("bench_gpu", PATH)
    module = sys.modules["bench_gpu"] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def invoke(gpu, *arguments):
    app = typer.Typer()
    app.command()(gpu.main)
    return CliRunner().invoke(app, arguments)


def test_every_path_but_the_kernels_runs_without_a_card(gpu):
    result = invoke(gpu, "--device", "cpu", "--tiny", "--repeats", "2", "--json")
    assert result.exit_code == 0, result.output
    checks = [json.loads(line) for line in result.stdout.splitlines()]
    assert sum(check["equality"] for check in checks) == 3
    assert all(check["passed"] for check in checks if check["equality"])
    assert "192 tokens" in checks[0]["name"]
    assert {"tiny: forced, greedy / redraft", "tiny: 8 rows of 17 / one of 136"} <= {
        check["name"].partition(" (")[0] for check in checks
    }


def test_wrong_positions_are_caught(gpu, monkeypatch):
    """Attention that looks one token too far back would pass any test of speed."""
    plans = runner._row_plans

    def shifted(rows):
        for plan in plans(rows):
            yield type(plan)(
                plan.query_start, plan.query_end, min(plan.key_start + 1, plan.key_end - plan.queries), plan.key_end
            )

    monkeypatch.setattr(runner, "_row_plans", shifted)
    checks = list(gpu.half_precision(torch.device("cpu")))
    assert not checks[0].passed


def test_big_models_want_a_card(gpu):
    assert invoke(gpu, "--device", "cpu").exit_code == 2
