from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from tests.continual.toy import small, toy

from sffa.continual import EWC, METHODS, Clock, ContinualRun, expectation, make_strategy, run
from sffa.core import make
from sffa.core.growth import update_optimizer
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError

ALGORITHMS = ("sffa", "ffa", "bp")
OFF = {
    "ewc": {"ewc.strength": 0},
    "ewc-online": {"ewc-online.strength": 0},
    "si": {"si.strength": 0},
    "mas": {"mas.strength": 0},
    "replay": {"replay.capacity": 0},
    "replay-reservoir": {"replay-reservoir.capacity": 0},
    "replay-balanced": {"replay-balanced.capacity": 0},
    "gaussian": {"gaussian.batch": 0},
    "lwf": {"lwf.strength": 0},
    "masking": {"masking.strength": 0},
    "projection": {"projection.threshold": 0},
    "derpp": {"derpp.capacity": 0},
    "gem": {"gem.patterns": 0},
    "a-gem": {"a-gem.patterns": 0},
}


def trained(algorithm: str, method: str, scenario: str = "class", experiences: int = 3, **more):
    more = {"epochs": 2, **more}
    course = ContinualRun(small(algorithm, method=method, scenario=scenario, **more), toy())
    for number in range(experiences):
        course.learn(course.stream[number])
    return course


def weights(course: ContinualRun) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in course.learner.parameters()])


@pytest.fixture(scope="module")
def naive() -> dict[tuple[str, str], torch.Tensor]:
    return {
        (algorithm, scenario): weights(trained(algorithm, "naive", scenario))
        for algorithm in ALGORITHMS
        for scenario in ("class", "domain", "task")
    }


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scenario", ["class", "domain", "task"])
@pytest.mark.parametrize("method", list(OFF))
def test_a_strategy_differs_from_naive(
    method: str, scenario: str, algorithm: str, naive: dict
) -> None:
    found = weights(trained(algorithm, method, scenario))
    assert float((found - naive[algorithm, scenario]).abs().max()) > 1e-6
    assert bool(found.isfinite().all())


@pytest.mark.parametrize("algorithm", ["sffa", "bp"])
@pytest.mark.parametrize("scenario", ["class", "task"])
@pytest.mark.parametrize("method", list(OFF))
def test_a_strategy_of_no_strength_equals_naive(
    method: str, scenario: str, algorithm: str, naive: dict
) -> None:
    found = weights(trained(algorithm, method, scenario, options=OFF[method]))
    if method in ("lwf", "derpp"):  # their term takes a graph, whose sums are in another order
        torch.testing.assert_close(found, naive[algorithm, scenario], rtol=1e-3, atol=1e-3)
    else:
        assert torch.equal(found, naive[algorithm, scenario])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("method", ["ewc", "ewc-online", "si", "mas"])
def test_penalties_are_zero_at_first_and_not_after_the_first_experience(
    method: str, algorithm: str
) -> None:
    course = trained(algorithm, method, experiences=1)
    learner, strategy = course.learner, course.strategy
    course.enter(course.stream[1])
    learner.zero_grad()
    strategy.add_penalty_gradients(learner)
    assert all(float(p.grad.abs().sum()) == 0 for p in learner.parameters() if p.grad is not None)
    with torch.no_grad():
        for parameter in learner.parameters():
            parameter.add_(0.01)
    strategy.add_penalty_gradients(learner)
    assert sum(float(p.grad.abs().sum()) for p in learner.parameters() if p.grad is not None) > 0


@pytest.mark.parametrize("algorithm", ["sffa", "bp"])
@pytest.mark.parametrize("method", [*METHODS, "replay+ewc"])
def test_a_strategy_keeps_no_live_alias_of_the_weights(method: str, algorithm: str) -> None:
    course = trained(algorithm, method, experiences=2)
    kept = {name: tensor.clone() for name, tensor in course.strategy.tensors().items()}
    with torch.no_grad():
        for parameter in course.learner.parameters():
            parameter.add_(1.0)
            if parameter.grad is not None:
                parameter.grad.add_(1.0)
    for name, tensor in course.strategy.tensors().items():
        assert torch.equal(tensor, kept[name]), name


@pytest.mark.parametrize("method", ["ewc", "si", "mas"])
@pytest.mark.parametrize(
    "network", [{"codes": "onehot"}, {"gate": "disjoint", "planned_classes": 4}]
)
def test_new_entries_of_grown_parameters_are_free_of_penalties(method: str, network: dict) -> None:
    course = trained("sffa", method, experiences=2, hidden=(40, 40), network={"k": 4, **network})
    before = {name: p.shape for name, p in course.learner.named_parameters()}
    stiff = {n: t.abs().sum() for n, t in course.strategy.parameter_state["curvature"].items()}
    course.enter(course.stream[2])
    grown = [n for n, p in course.learner.named_parameters() if p.shape != before[n]]
    assert grown
    for name, tensor in course.strategy.parameter_state["curvature"].items():
        assert tensor.shape == dict(course.learner.named_parameters())[name].shape
        assert float(tensor.abs().sum()) == pytest.approx(float(stiff[name]))
    course.learn(course.stream[2])


def test_the_folded_ewc_gradient_equals_the_plain_sum_over_experiences() -> None:
    course = ContinualRun(small("bp", method="ewc", scenario="domain"), toy())
    strategy, learner = course.strategy, course.learner
    plain = []
    for experience in course.stream:
        course.learn(experience)
        fisher = strategy.fisher_information(learner, experience)
        stars = {n: p.detach().clone() for n, p in learner.named_parameters()}
        plain.append((fisher, stars))
    with torch.no_grad():
        for parameter in learner.parameters():
            parameter.mul_(1.01)
    learner.zero_grad()
    strategy.add_penalty_gradients(learner)
    for name, parameter in learner.named_parameters():
        wide = parameter.detach().double()
        wanted = sum(2e5 * f[name].double() * (wide - s[name].double()) for f, s in plain)
        scale = float(wanted.abs().max())
        assert float((parameter.grad - wanted).abs().max()) < 1e-5 * scale


def test_si_equals_a_numpy_transcription_of_its_formulas() -> None:
    """The formulas on a quadratic loss, with plain gradient descent."""

    class Slope(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))

    model = Slope()
    strategy = make_strategy(["si"])
    w = np.array([1.0, -2.0, 0.5])
    total, importance, star = np.zeros(3), np.zeros(3), w.copy()
    for target in (np.array([0.0, 1.0, 0.4]), np.array([2.0, 0.0, 0.0]), np.array([0.0, 0, 9.0])):
        strategy.before_experience(model, None)
        start, path = w.copy(), np.zeros(3)
        for _ in range(7):
            model.w.grad = (model.w - torch.tensor(target, dtype=torch.float32)).detach()
            strategy.add_penalty_gradients(model)
            with torch.no_grad():
                model.w.sub_(0.1 * model.w.grad)
            strategy.after_step(model)
            g = (w - target) + 1e3 * importance * (w - star)
            path += g * (-0.1 * g)
            w = w - 0.1 * g
        strategy.after_experience(model, None)
        total += path / ((w - start) ** 2 + 0.1)
        importance, star = np.minimum(-total, 0.001), w.copy()
        np.testing.assert_allclose(model.w.detach().numpy(), w, rtol=1e-5)
        np.testing.assert_allclose(
            strategy.parameter_state["curvature"]["w"].numpy(), 1e3 * importance, rtol=1e-4
        )


def test_combined_strategies_do_what_each_does() -> None:
    both = trained("bp", "replay+ewc").strategy
    kept = both.tensors()
    assert any("curvature" in name for name in kept)
    assert len(both.extra_batch(Clock(1, 0, 0)).y) > 0
    alone = trained("bp", "replay").strategy
    assert torch.equal(both.parts[0].buffers["x"], alone.buffers["x"])
    other = trained("bp", "ewc")
    assert not torch.equal(
        both.parts[1].parameter_state["curvature"]["body.0.weight"],
        other.strategy.parameter_state["curvature"]["body.0.weight"],
    )


def test_joint_training_remembers() -> None:
    config = small("bp", method="joint", epochs=8)
    result = run(config, toy())
    assert result.metrics["acc"] > 90
    kept = [experience["strategy_mb"] for experience in result.experiences]
    assert kept == pytest.approx([80 * n * 80 / 2**20 for n in (1, 2, 3)])
    assert run(config.model_copy(update={"method": "naive"}), toy()).metrics["acc"] < 60


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_replay_cures_forgetting(algorithm: str) -> None:
    more = {"epochs": 10, "options": {"replay.capacity": 60}, "hidden": (60, 60)}
    cured = trained(algorithm, "replay", **more).result.metrics["acc"]
    more.pop("options")
    assert cured > trained(algorithm, "naive", **more).result.metrics["acc"] + 20


def test_a_grown_parameter_starts_its_optimiser_anew_and_others_go_on() -> None:
    learner = make("bp", 4, (5,), classes=[0, 1])
    optimizer = torch.optim.Adam(learner.parameters(), lr=0.1)
    learner.loss(torch.ones(2, 4), torch.tensor([0, 1])).backward()
    optimizer.step()
    head = learner.heads["all"].weight
    body = learner.body[0].weight
    moments = copy.deepcopy(optimizer.state[body])
    update_optimizer(optimizer, learner.add_classes([2]))
    assert head not in optimizer.state
    assert learner.heads["all"].weight not in optimizer.state
    assert learner.heads["all"].weight in set(optimizer.param_groups[0]["params"])
    assert torch.equal(optimizer.state[body]["exp_avg"], moments["exp_avg"])


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("ewk", {}, "unknown method 'ewk'; did you mean 'ewc'?"),
        ("ewc", {"ewc.strenght": 1}, "did you mean 'ewc.strength'?"),
        ("ewc", {"si.strength": 1}, "unknown option 'si.strength'"),
        ("ewc+ewc", {}, "named twice"),
        ("replay", {"replay.policy": "clas"}, "'class' or 'reservoir'"),
        ("replay", {"replay.capacity": 100.5}, "option 'replay.capacity' = 100.5"),
        ("replay", {"replay.batch": 2.5}, "option 'replay.batch' = 2.5"),
        ("gem", {"gem.strength": -1}, "must not be negative"),
        ("gem", {"gem.patterns": 2.5}, "option 'gem.patterns' = 2.5"),
        ("a-gem", {"a-gem.sample": 2.5}, "option 'a-gem.sample' = 2.5"),
        ("ewc", {"ewc.strength": "abc"}, "option 'ewc.strength' = 'abc'"),
        ("ewc", {"ewc.strength": -1e6}, "0 or more"),
        ("ewc", {"ewc.strength": float("nan")}, "0 or more"),
        ("ewc-online", {"ewc-online.decay": 2}, "0 to 1"),
        ("mas", {"mas.alpha": -0.1}, "0 to 1"),
        ("si", {"si.epsilon": 0}, "above 0"),
    ],
)
def test_wrong_methods_and_options_are_one_clear_line(
    method: str, options: dict, message: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        make_strategy(method.split("+"), options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("method", ["replay", "replay-balanced"])
def test_a_buffer_smaller_than_the_number_of_experiences_is_refused(method: str) -> None:
    config = small("bp", method=method, options={f"{method}.capacity": 2})
    with pytest.raises(ConfigurationError, match="a buffer of 2 is smaller than the number of"):
        ContinualRun(config, toy())


def test_a_method_that_keeps_nothing_of_old_labels_is_told_in_one_line_before_training() -> None:
    for method in ("naive", "ewc", "si", "mas", "lwf", "masking", "ewc+si"):
        line = expectation(method, "class")
        assert line is not None
        assert line.startswith(f"{method} keeps nothing of old labels in Class IL")
        assert "%" not in line
        assert "about 20 %" in str(expectation(method, "class", 0.2))
        assert "\n" not in line
        assert expectation(method, "task") is None
    for method in ("replay", "gaussian", "replay+ewc", "joint", "derpp", "projection"):
        assert expectation(method, "class") is None


@pytest.mark.parametrize("scenario", ["class", "task"])
@pytest.mark.parametrize("algorithm", ["sffa", "bp"])
def test_fisher_by_sample_is_the_mean_over_examples_whatever_the_batch_size(
    algorithm: str, scenario: str
) -> None:
    course = ContinualRun(small(algorithm, scenario=scenario, epochs=1), toy())
    experience = course.stream[0]
    course.learn(experience)
    learner = course.learner
    wanted = {n: torch.zeros_like(p) for n, p in learner.named_parameters()}
    for number in range(len(experience.train)):
        learner.zero_grad()
        learner.loss(*experience.train.take(torch.tensor([number]))).backward()
        for name, parameter in learner.named_parameters():
            if parameter.grad is not None:
                wanted[name] += parameter.grad.square() / len(experience.train)
    learner.zero_grad()
    found = {}
    for size in (8, 64):
        for fisher in ("batch", "sample"):
            strategy = EWC(fisher=fisher, batch_size=size)
            found[fisher, size] = strategy.fisher_information(learner, experience)
    for name, tensor in wanted.items():
        scale = float(tensor.max()) or 1.0
        for size in (8, 64):
            assert float((found["sample", size][name] - tensor).abs().max()) < 1e-4 * scale
    total = {key: float(sum(t.sum() for t in tensors.values())) for key, tensors in found.items()}
    assert total["batch", 8] > 2 * total["batch", 64]


def test_the_true_fisher_of_back_propagation_is_that_of_a_softmax() -> None:
    course = ContinualRun(small("bp", epochs=1), toy())
    experience = course.stream[0]
    course.learn(experience)
    found = EWC(fisher="true", examples=5).fisher_information(course.learner, experience)
    drawn = generator(0, "fisher", 0).permutation(len(experience.train))[:5]
    x = experience.train.take(torch.from_numpy(drawn)).x
    hidden = course.learner.body(course.learner.prepare(x))
    p = course.learner.outputs(x).softmax(dim=1)
    # E over labels of (p - onehot)² is p (1 - p), times the squared input of the head.
    wanted = ((p * (1 - p))[:, :, None] * hidden.square()[:, None, :]).mean(dim=0)
    torch.testing.assert_close(found["heads.all.weight"], wanted.detach(), rtol=1e-4, atol=1e-8)


def test_a_stream_takes_the_negatives_it_is_told() -> None:
    pairs = run(small("sffa", negatives="uniform", epochs=1), toy())
    assert pairs.config.negatives == "uniform"
    assert pairs.rows != run(small("sffa", epochs=1), toy()).rows
    with pytest.raises(ConfigurationError, match="bp has no negatives"):
        small("bp", negatives="hard")
