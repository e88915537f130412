from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from sffa.errors import ConfigurationError
from sffa.study import Grid, Study, read_study_file, studies
from sffa.study.grid import Override, seeds


def test_the_papers_second_question_is_1080_runs_and_no_two_are_the_same() -> None:
    runs = studies("paper-rq2")[0].runs()
    assert len({run.key for run in runs}) == len(runs) == 1080
    assert {run.key.seed for run in runs} == set(range(10))


def test_the_papers_first_question_has_four_datasets_and_three_algorithms() -> None:
    runs = studies("rq1")[0].runs()
    assert len({run.cell for run in runs}) == 12
    one = runs[-1].values
    assert (one["epochs"], one["batch_size"], one["lr"]) == (100, 512, 1e-4)


@pytest.mark.parametrize("name", ["rq1", "rq2", "quick"])
def test_seeds_are_outermost_so_that_stopping_early_leaves_whole_seeds(name: str) -> None:
    runs = studies(name)[0].runs()
    blocks = [(seed, len(list(block))) for seed, block in groupby(r.key.seed for r in runs)]
    assert [seed for seed, _ in blocks] == sorted({run.key.seed for run in runs})
    assert len({size for _, size in blocks}) == 1


def test_filters_keep_only_what_is_named() -> None:
    study = studies("rq2")[0].restricted(
        seeds=(3,), dataset=["split-mnist"], scenario=["task"], method=["ewc", "gem"]
    )
    assert {run.cell[:3] for run in study.runs()} == {
        ("split-mnist", "task", "ewc"),
        ("split-mnist", "task", "gem"),
    }
    assert {run.key.seed for run in study.runs()} == {3}


def test_a_filter_chooses_among_static_and_continual_runs() -> None:
    quick = studies("quick")[0]
    assert {run.static for run in quick.runs()} == {True, False}
    assert {run.static for run in quick.restricted(scenario=["static"]).runs()} == {True}
    assert {run.static for run in quick.restricted(scenario=["domain"]).runs()} == {False}
    assert {run.method for run in quick.restricted(method=["hard"]).runs()} == {"hard", "none"}


def test_a_filter_may_name_what_the_study_lacks() -> None:
    study = studies("rq2")[0].restricted(seeds=(0,), algorithm=["sffa-gated"], method=["joint"])
    assert len(study.runs()) == 6
    assert {run.cell[2:] for run in study.runs()} == {("joint", "sffa-gated")}


def test_a_filter_chooses_the_grids_that_have_what_is_named() -> None:
    study = studies("remember")[0]
    closed = study.restricted(seeds=(0,), algorithm=["ridge"]).runs()
    assert {run.cell[2:] for run in closed} == {("naive", "ridge")}
    drawn = study.restricted(seeds=(0,), method=["gaussian"], algorithm=["sffa"]).runs()
    assert {run.cell[2:] for run in drawn} == {("gaussian", "sffa")}
    assert {"contrast_with" in run.values["network"] for run in drawn} == {False}


def test_an_unknown_value_of_a_filter_names_its_nearest_neighbour() -> None:
    with pytest.raises(ConfigurationError, match=r"unknown dataset 'split-mnits'.*'split-mnist'"):
        studies("rq2")[0].restricted(dataset=["split-mnits"])
    with pytest.raises(ConfigurationError, match=r"unknown study 'rq3'; did you mean 'rq"):
        studies("rq3")


def test_any_field_can_be_swept_and_overridden(tmp_path: Path) -> None:
    path = tmp_path / "widths.toml"
    path.write_text(
        """
        seeds = "0-1"
        [base]
        scenario = "static"
        dataset = "digits"
        network = { alpha = 5.0 }
        [axes]
        algorithm = ["bp", "sffa"]
        hidden = [[40], [80]]
        "network.k" = [5, 10]
        [[overrides]]
        when = { algorithm = "bp" }
        set = { negatives = "none", network = {} }
        """
    )
    study = read_study_file(path)
    assert study.name == "widths"
    with pytest.raises(ConfigurationError, match="has no option 'alpha'"):
        study.runs()
    runs = study.restricted(algorithm=["sffa"]).runs()
    assert len(runs) == 2 * 2 * 2
    assert {run.values["network"]["k"] for run in runs} == {5, 10}
    assert {run.values["network"]["alpha"] for run in runs} == {5.0}


def test_a_sweep_takes_options_without_prefix_and_knows_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "buffers.toml"
    path.write_text(
        """
        seeds = 3
        [base]
        dataset = "digits"
        method = "replay"
        k = 5
        [axes]
        "replay.capacity" = [50, 100]
        [[overrides]]
        when = { "replay.capacity" = 50 }
        set = { gate = 0.5 }
        """
    )
    runs = read_study_file(path).runs()
    assert {run.key.seed for run in runs} == {3}
    assert {run.values["scenario"] for run in runs} == {"class"}
    found = [(run.values["options"]["replay.capacity"], run.values["network"]) for run in runs]
    assert [capacity for capacity, _ in found] == [50, 100]
    assert [network.get("gate") for _, network in found] == [0.5, None]
    assert {network["k"] for _, network in found} == {5}


def test_a_whole_network_asked_for_wins_over_an_override_of_a_part() -> None:
    asked = studies("rq1")[0].restricted(seeds=(0,), algorithm=["ffa"])
    asked = asked.varying({"network": [{"scale": 1.0}]})
    assert {run.values["network"]["scale"] for run in asked.runs()} == {1.0}


def test_a_sweep_does_not_take_the_name_of_a_study(tmp_path: Path) -> None:
    path = tmp_path / "rq2.toml"
    path.write_text("[base]\ndataset = 'digits'")
    with pytest.raises(ConfigurationError, match="'rq2' is a study of sffa's own"):
        read_study_file(path)


def test_cells_that_an_override_makes_equal_are_run_once() -> None:
    grid = Grid(
        base={"scenario": "static", "algorithm": "bp"},
        axes={"negatives": ["uniform", "hard"]},
        overrides=[{"when": {"algorithm": "bp"}, "set": {"negatives": "none"}}],  # type: ignore[list-item]
    )
    assert len(Study("one", (grid,)).runs()) == 1


def test_a_sweep_file_with_an_unknown_key_names_its_nearest_neighbour(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("sedes = '0'")
    with pytest.raises(ConfigurationError, match="'sedes'; did you mean 'seeds'"):
        read_study_file(path)
    path.write_text("= 1")
    with pytest.raises(ConfigurationError, match="is not TOML"):
        read_study_file(path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_study_file(tmp_path / "absent.toml")


@pytest.mark.parametrize("text", ["a", "1-", "3-1", "", "-4"])
def test_seeds_that_cannot_be_read_are_an_error(text: str) -> None:
    with pytest.raises(ConfigurationError, match="0-9"):
        seeds(text)


@pytest.mark.parametrize("path", sorted(Path("studies").glob("*.toml")), ids=lambda p: p.stem)
def test_the_studies_kept_with_the_project_can_be_read(path: Path) -> None:
    study = read_study_file(path)
    assert study.name == path.stem
    assert study.runs()


def test_what_is_asked_for_wins_over_the_overrides_of_a_study() -> None:
    asked = studies("quick")[0].restricted(algorithm=["sffa"]).varying({"network.k": [8]})
    assert {run.values["network"]["k"] for run in asked.runs()} == {8}
    static = studies("rq1")[0].varying({"negatives": ["hard"]}).restricted(seeds=(0,))
    found = {run.values["algorithm"]: run.values["negatives"] for run in static.runs()}
    assert found == {"bp": "none", "ffa": "hard", "sffa": "hard"}


def test_options_of_networks_and_methods_need_no_prefix() -> None:
    study = studies("rq2")[0].restricted(seeds=(0,), algorithm=["sffa"], method=["ewc"])
    asked = study.varying({"k": [8], "ewc.strength": [3.0]})
    values = asked.runs()[0].values
    assert (values["network"]["k"], values["options"]) == (8, {"ewc.strength": 3.0})


def test_overrides_look_into_the_network() -> None:
    override = Override(when={"network.k": 5}, set={"epochs": 9})
    grid = Grid(axes={"network.k": [5, 6]}, overrides=[override])
    assert [cell.get("epochs") for cell in grid.cells()] == [9, None]


@pytest.mark.parametrize("text", ["seeds = []", "[axes]\nlr = []", "[base]\nseed = 7"])
def test_sweeps_that_would_run_nothing_or_other_seeds_are_refused(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(ConfigurationError):
        read_study_file(tmp_path / "s.toml")


@pytest.mark.parametrize("filters", [{"dataset": ["mnist"]}, {"scenario": ["static"]}])
def test_what_belongs_to_another_kind_of_study_is_told_apart(filters: dict) -> None:
    with pytest.raises(ConfigurationError, match="does not go with this study"):
        studies("rq2")[0].restricted(**filters)


@pytest.mark.parametrize("text", ["\u00b2", "1-\u00b2", "one"])
def test_seeds_are_decimal_numbers(text: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot read seeds"):
        seeds(text)
