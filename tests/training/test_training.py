import json
import shutil
import warnings

import peft
import pytest
import tiny_models
import torch
from redraft.bench.random_model import byte_tokenizer
from redraft.engine.prompt import Prompter
from redraft.engine.request import EditRequest
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.script import Scripts
from redraft.engine.service import EngineService
from redraft.replay.pairs import Pair

from training import train
from training.checkpoint import Checkpoint, Progress
from training.edits.base import Edit
from training.examples import Example, Stream, decided, encoded
from training.lora import Trainee

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
EDIT = Edit(
    "t", "s", "Helo world.\n\nA second <|im_end|> line.\n", "Correct it", "Hello world.\n\nA second <|im_end|> line.\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model as a folder."""
    path = tmp_path_factory.mktemp("tiny")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tiny_models.build("llama").to(torch.float32).save_pretrained(path)
        byte_tokenizer().save_pretrained(path)
    return path


def trainee(folder, precision="float32"):
    torch.manual_seed(3)
    return Trainee(str(folder), rank=4, alpha=8, precision=precision, name="tiny")


def test_the_ids_are_the_engines():
    pair = Pair(id="1", kind="made", before=EDIT.document, after=EDIT.wanted)
    service = EngineService(tiny_models.loaded(), SchedulerLimits(), scripts=Scripts.of([pair]))
    prompt, answer = service.forced_ids(EditRequest(EDIT.document, EDIT.instruction))
    example = encoded(Prompter(byte_tokenizer()), tiny_models.END, EDIT)
    assert example.ids == [*prompt, *answer]
    assert example.answer == len(answer)
    assert example.ids[-1] == tiny_models.END
    assert example.ids.count(tiny_models.END) == 3  # system, user, answer: none from the document


def test_the_loss_is_the_answers_alone_and_equals_the_models_own(folder):
    model = trainee(folder)
    example = Example([3, 4, 5, 6, 7, 8, 9], answer=3)
    logits = model.model(input_ids=torch.tensor([example.ids])).logits[0].log_softmax(-1)
    expected = [-logits[place - 1, example.ids[place]].item() for place in (4, 5, 6)]
    assert model.losses(example).tolist() == pytest.approx(expected, rel=1e-5)
    assert model.losses(Example(example.ids, answer=1)).tolist() == pytest.approx(expected[-1:], rel=1e-5)


def test_decided_tokens_weigh_more(folder):
    model = trainee(folder)
    example = Example([3, 4, 5, 6, 7, 8, 9], answer=3, decided=frozenset({1}))
    first, second, third = model.losses(example).tolist()
    loss, gradients = model.gradient(example, weight=5.0, total=14.0)
    assert loss == pytest.approx((first + 5 * second + third) / 14, rel=1e-5)
    assert len(gradients) == len(model.parameters)


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], []),
        ([1, 2, 3, 4], [1, 9, 3, 4], [1, 2]),  # the new token, and the one that says that the edit is over
        ([1, 2, 3, 4], [1, 3, 4], [1]),  # a deletion is only seen in what comes instead
        ([1, 2, 3, 4], [1, 2, 8, 9, 3, 4], [2, 3, 4]),
        ([1, 2, 3, 4], [1, 2, 4], [2]),  # 4: the end token
        ([1, 2], [7, 8, 2], [0, 1, 2]),
    ],
)
def test_what_is_decided(before, after, places):
    assert sorted(decided(before, after)) == places


def test_an_unchanged_text_decides_nothing():
    same = Edit("t", "s", EDIT.wanted, "Correct it", EDIT.wanted)
    assert not encoded(Prompter(byte_tokenizer()), tiny_models.END, same).decided
    assert encoded(Prompter(byte_tokenizer()), tiny_models.END, EDIT).decided


def test_bfloat16_changes_the_loss_little_and_leaves_the_adapter_in_float32(folder):
    example = Example(list(range(3, 60)), answer=20)
    exact, rough = trainee(folder), trainee(folder, "bfloat16")
    assert rough.losses(example).sum().item() == pytest.approx(exact.losses(example).sum().item(), rel=0.03)
    assert {parameter.dtype for parameter in rough.parameters} == {torch.float32}


def asked(folder, out, **others):
    given = {
        "steps": 4,
        "hours": 9,
        "rank": 4,
        "alpha": 8,
        "step-tokens": 300,
        "longest": 60,
        "save-every": 1,
        "threads": 2,
    }
    given |= {"probe-every": 2, "precision": "float32", "lr": 0.01} | others
    arguments = [text for name, value in given.items() for text in (f"--{name}", str(value))]
    return train.options(["--out", str(out), "--model", str(folder), *arguments])


@pytest.fixture
def few_sources(monkeypatch):
    """Streams that need no installed package."""

    class Few(Stream):
        @classmethod
        def open(cls, replay, prompter, end, seed, longest, evaluation):
            return cls(Generator(), prompter, end, longest)

    class Generator:
        def edit(self, index):
            return Edit("t", "s", f"Helo number {index}.", "Correct it", f"Hello number {index}.")

    monkeypatch.setattr(train, "Stream", Few)


def lines(out):
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def test_a_run_goes_on_where_it_stopped_and_ends_with_an_adapter_that_peft_loads(folder, tmp_path, few_sources):
    whole = train.start(asked(folder, tmp_path / "whole"))
    whole.train()
    first = train.start(asked(folder, tmp_path / "parts"))
    first.step()
    first.step()
    first.save()
    second = train.start(asked(folder, tmp_path / "parts"))
    assert second.progress.step == 2
    assert second.stream.index == first.stream.index
    second.train()
    for ours, theirs in zip(whole.trainee.parameters, second.trainee.parameters, strict=True):
        torch.testing.assert_close(ours, theirs)
    steps = [line for line in lines(tmp_path / "parts") if "loss" in line]
    assert [line["step"] for line in steps] == [1, 2, 3, 4]
    assert all(line["tokens_per_second"] > 0 and line["tokens"] > 0 for line in steps)
    assert steps[-1]["rate"] < steps[1]["rate"] * 2
    assert any("held_out_decided" in line for line in lines(tmp_path / "parts"))
    adapter = tmp_path / "parts" / "adapter"
    assert {file.name for file in adapter.iterdir()} == {"adapter_config.json", "adapter_model.safetensors"}
    assert json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"] == str(folder)
    base = tiny_models.build("llama").to(torch.float32)
    loaded = peft.PeftModel.from_pretrained(base, str(adapter))
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    torch.testing.assert_close(loaded(ids).logits, whole.trainee.model(ids).logits, rtol=5e-2, atol=5e-2)


def test_training_lowers_the_loss(folder, tmp_path, few_sources):
    run = train.start(asked(folder, tmp_path, steps=60, **{"save-every": 100, "probe-every": 100}))
    before = run.held_out_losses()
    run.train()
    for loss, first in zip(run.held_out_losses(), before, strict=True):
        assert loss < 0.8 * first


def test_time_ends_a_run_too(folder, tmp_path, few_sources):
    run = train.start(asked(folder, tmp_path, steps=0, hours=1e-6))
    run.train()
    assert run.progress.step == 1
    assert run.done == 1.0


def test_a_crash_between_the_renames_leaves_the_old_checkpoint(folder, tmp_path):
    model = trainee(folder)
    optimizer = torch.optim.AdamW(model.parameters)
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.restore(optimizer, model.load) is None
    checkpoint.save(Progress(step=7), optimizer, model.save)
    shutil.move(checkpoint.folder, tmp_path / "checkpoint.old")
    (tmp_path / "checkpoint.new").mkdir()
    assert Checkpoint(tmp_path).restore(optimizer, model.load).step == 7
    checkpoint.save(Progress(step=8), optimizer, model.save)
    assert Checkpoint(tmp_path).restore(optimizer, model.load).step == 8
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_a_foreign_adapter_is_refused(folder, tmp_path):
    small = trainee(folder)
    small.save(tmp_path)
    other = Trainee(str(folder), rank=8, alpha=8, precision="float32", name="tiny")
    with pytest.raises((ValueError, RuntimeError)):
        other.load(tmp_path)
