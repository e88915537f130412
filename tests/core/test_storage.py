"""Model files: exact, whole, and never silently wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file
from tests.contracts.learners import GROWING, WAYS, learner, same, snapshot, trainer

import sffa
from sffa import Network, Trainer
from sffa.core import storage
from sffa.errors import ModelFileError

FIXTURE = Path(__file__).parent / "fixtures" / "format-1.safetensors"


@pytest.mark.parametrize("algorithm", GROWING)
def test_a_learner_reads_back_exactly(algorithm, digits, tmp_path):
    x = digits[0]
    net = learner(algorithm, classes=(5, 1, 8, 0, 3), seed=4)
    net.add_classes([2, 9], task=3)
    net.standardise(torch.linspace(0, 1, 64), torch.linspace(1, 2, 64))
    net.save(tmp_path / "model.safetensors")
    back = sffa.load(tmp_path / "model.safetensors")
    assert type(back) is type(net)
    assert back.config == net.config
    assert (back.classes, back.tasks, back.current) == (net.classes, net.tasks, net.current)
    assert same(snapshot(back), snapshot(net))
    assert torch.equal(back.scores(x, 3), net.scores(x, 3))
    if algorithm != "bp":
        assert torch.equal(back.scores(x), net.scores(x))
        for mine, theirs in zip(net.layers, back.layers, strict=True):
            assert (mine.gate is None) == (theirs.gate is None)
            assert mine.gate is None or torch.equal(mine.gate.own, theirs.gate.own)


@pytest.mark.parametrize(("algorithm", "negatives", "schedule"), WAYS)
def test_a_training_resumed_from_its_checkpoint_continues_bit_for_bit(
    algorithm, negatives, schedule, digits, tmp_path
):
    x, y = digits
    kept = trainer(algorithm, negatives, schedule, seed=2)
    kept.fit(x[:100], y[:100], batch_size=40)
    kept.save(tmp_path / "checkpoint.safetensors")
    resumed = Trainer.load(tmp_path / "checkpoint.safetensors")
    assert resumed.epochs_done == kept.epochs_done
    histories = [
        [(e.number, e.layer, e.loss) for e in t.fit(x[:100], y[:100], epochs=2, batch_size=40)]
        for t in (kept, resumed)
    ]
    assert histories[0] == histories[1]
    assert same(snapshot(kept.learner), snapshot(resumed.learner))
    for name, parameter in kept.learner.named_parameters():
        mine = kept.optimizer.state.get(parameter, {})
        theirs = resumed.optimizer.state.get(resumed.learner.get_parameter(name), {})
        assert same(mine, theirs)


@pytest.mark.parametrize("algorithm", GROWING)
@pytest.mark.parametrize("grown", ["before saving", "after loading"])
def test_growth_and_resumption_commute(algorithm, grown, digits, tmp_path):
    x, y = digits
    start = torch.isin(y, torch.tensor([0, 1]))
    options = {} if algorithm == "bp" else {"contrast_with": "current"}
    if algorithm == "disjoint":
        net = Network(64, hidden=(60, 60), k=5, gate="disjoint", classes=(0, 1), **options)
    else:
        net = learner(algorithm, classes=(0, 1), **options)
    kept = Trainer(net, lr=1e-2)
    kept.fit(x[start], y[start], batch_size=20)
    path = tmp_path / "checkpoint.safetensors"
    if grown == "before saving":
        kept.add_classes([7, 4])
        kept.save(path)
        resumed = Trainer.load(path)
    else:
        kept.save(path)
        resumed = Trainer.load(path)
        for each in (kept, resumed):
            each.add_classes([7, 4])
    after = torch.isin(y, torch.tensor([7, 4, 0]))
    for each in (kept, resumed):
        each.fit(x[after], y[after], batch_size=20)
    assert kept.learner.current == resumed.learner.current
    assert same(snapshot(kept.learner), snapshot(resumed.learner))


@pytest.mark.parametrize("algorithm", ["sffa", "ffa", "sffa-gated", "disjoint"])
def test_a_deepened_training_is_resumed_on_its_new_layer(algorithm, digits, tmp_path):
    x, y = digits[0][:100], digits[1][:100]
    net = learner(algorithm)
    kept = Trainer(net, lr=1e-2, negatives="hard")
    kept.fit(x, y, batch_size=50)
    net.add_classes([10, 11]) if algorithm != "disjoint" else kept.add_classes([10, 11])
    kept.deepen(120)
    kept.step(x, y)
    kept.save(tmp_path / "checkpoint.safetensors")
    resumed = Trainer.load(tmp_path / "checkpoint.safetensors")
    below = snapshot(resumed.learner.layers[:2])
    for each in (kept, resumed):
        each.fit(x, y, epochs=2, batch_size=50)
    assert same(snapshot(kept.learner), snapshot(resumed.learner))
    assert same(below, snapshot(resumed.learner.layers[:2]))


def test_a_model_without_training_state_cannot_be_resumed(tmp_path):
    learner("sffa").save(tmp_path / "model.safetensors")
    with pytest.raises(ModelFileError, match="nothing to resume"):
        Trainer.load(tmp_path / "model.safetensors")


def test_notes_come_back_as_they_were(tmp_path):
    notes = {"dataset": "digits", "names": ["zéro", "eins"], "deep": {"a": [1, 2.5, None]}}
    learner("sffa").save(tmp_path / "model.safetensors", notes=notes)
    assert storage.read(tmp_path / "model.safetensors")[0].notes == notes


@pytest.fixture(scope="module")
def small_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "small.safetensors"
    net = Network(3, hidden=(6,), k=2, code_size=5, classes=range(3))
    teacher = Trainer(net)
    teacher.step(torch.ones(3, 3), torch.arange(3))
    teacher.save(path)
    return path


@settings(max_examples=300)
@given(st.data())
def test_a_changed_byte_is_an_error_or_changes_nothing(small_file, data):
    """White space between header and tensors is the only place where a byte means nothing."""
    content = bytearray(small_file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    damaged = small_file.with_name("damaged.safetensors")
    damaged.write_bytes(content)
    wanted = storage.read(small_file)
    try:
        found = storage.read(damaged)
    except ModelFileError as error:
        found, message = None, str(error)
    if found is None:
        assert str(damaged) in message
        assert "\n" not in message
    else:
        assert found[0] == wanted[0]
        assert same(found[1], wanted[1])


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_refused(small_file, tmp_path, share):
    content = small_file.read_bytes()
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match=r"cut\.safetensors is damaged"):
        sffa.load(cut)


def test_what_is_no_model_file_is_refused_by_name(tmp_path):
    foreign = tmp_path / "foreign.safetensors"
    save_file({"weight": torch.zeros(2)}, foreign)
    with pytest.raises(ModelFileError, match="but sffa did not write it"):
        sffa.load(foreign)
    foreign.write_text("not a model")
    with pytest.raises(ModelFileError, match="not a model file"):
        sffa.load(foreign)
    with pytest.raises(ModelFileError, match="no model file at"):
        sffa.load(tmp_path / "missing.safetensors")
    with pytest.raises(ModelFileError, match="no model file at"):
        sffa.load(tmp_path)


def forge(path: Path, source: Path, **changes: object) -> None:
    """Write a file whose sum is right and whose header was changed."""
    header, tensors = storage.read(source)
    values = {**header.model_dump(), **changes}
    storage.write(path, {key: value for key, value in values.items() if value is not None}, tensors)


def test_a_newer_format_asks_for_an_update(small_file, tmp_path):
    forge(tmp_path / "newer.safetensors", small_file, format=storage.FORMAT + 1)
    with pytest.raises(ModelFileError, match="has format 2, this sffa reads up to 1: update sffa"):
        sffa.load(tmp_path / "newer.safetensors")


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": None},
        {"config": {"inputs": 3, "hiden": [6]}},
        {"config": {"inputs": 4, "hidden": [6], "k": 2}},
        {"config": None},
        {"classes": [0, 0, 1]},
        {"classes": [0]},
        {"classes": "abc"},
        {"tasks": {"x": [0]}},
        {"tasks": [1, 2]},
        {"kind": "backprop"},
        {"format": "one"},
    ],
    ids=str,
)
def test_a_header_that_does_not_fit_its_tensors_is_one_error(small_file, tmp_path, changes):
    forge(tmp_path / "forged.safetensors", small_file, **changes)
    with pytest.raises(ModelFileError, match=r"forged\.safetensors"):
        sffa.load(tmp_path / "forged.safetensors")


def test_a_file_without_permission_is_refused(small_file, tmp_path):
    locked = tmp_path / "locked.safetensors"
    locked.write_bytes(small_file.read_bytes())
    locked.chmod(0)
    if os.access(locked, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(ModelFileError, match="locked"):
        sffa.load(locked)


def test_a_place_that_cannot_be_written_is_one_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFileError, match="cannot write a model to"):
        learner("sffa").save(tmp_path / "file" / "model.safetensors")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match="cannot write a model to"):
        learner("sffa").save(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_full_disk_leaves_the_last_checkpoint_whole(tmp_path):
    pytest.importorskip("resource", reason="file sizes are limited by Unix only")
    path = tmp_path / "model.safetensors"
    net = learner("sffa")
    net.save(path)
    before = path.read_bytes()
    code = f"""
import resource, signal, sys
import sffa
from sffa.errors import ModelFileError
net = sffa.load({str(path)!r})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    net.save({str(path)!r})
except ModelFileError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("cannot write a model to")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


def test_nothing_but_tensors_and_json_is_in_a_file(small_file):
    with safe_open(small_file, framework="pt") as file:
        metadata = file.metadata()
    assert set(metadata) == {"sffa", "sha256"}
    header = json.loads(metadata["sffa"])
    assert header["format"] == 1
    assert set(header) == {
        "format", "kind", "config", "classes", "tasks", "current", "notes", "trainer",
    }  # fmt: skip


def test_a_model_of_format_1_still_loads_and_scores_the_same():
    """The fixture was written by version 0.1.0; what it holds and says is pinned here."""
    assert FIXTURE.stat().st_size < 50_000
    net = sffa.load(FIXTURE)
    assert isinstance(net, Network)
    assert net.classes == [3, 0, 7]
    assert net.tasks == {1: [1, 2]}
    assert net.config.gate == 0.5
    x = torch.linspace(-1, 1, 12).reshape(2, 6)
    torch.testing.assert_close(net.scores(x), torch.tensor(PINNED), rtol=1e-5, atol=1e-6)
    teacher = Trainer.load(FIXTURE)
    assert (teacher.epochs_done, teacher.negatives, teacher.layer) == (3, "hard", None)
    loss = teacher.step(x, torch.tensor([3, 7])).item()
    assert loss == pytest.approx(PINNED_LOSS, rel=1e-4)


PINNED = [[0.5078956, 0.5024265, 0.4762319], [0.4715569, 0.4983034, 0.5042902]]
PINNED_LOSS = 1.3896604


def test_a_name_that_no_file_can_have_is_one_line():
    with pytest.raises(ModelFileError) as refused:
        sffa.load("x" * 5000)
    assert "\n" not in str(refused.value)
