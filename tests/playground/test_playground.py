"""Reading, teaching and forgetting without a page."""

from __future__ import annotations

import base64
import time

import numpy as np
import pytest
import torch
from tests.playground.conftest import pixels

from sffa.errors import ConfigurationError, DataError, SFFAError
from sffa.playground import session as sessions_module
from sffa.playground.forgetting import learn_in_parts
from sffa.playground.material import SIDE, dreams, named, packaged
from sffa.playground.networks import accuracy_of, reading
from sffa.playground.session import (
    BusyError,
    Choice,
    Example,
    Lesson,
    NotFoundError,
    Question,
    Session,
    Sessions,
)
from sffa.playground.teaching import FINE, teach

FIRST = "sffa-contrast"


def cross(shift: int) -> np.ndarray:
    """Return a large plus sign, moved a little."""
    picture = np.zeros((FINE * SIDE, FINE * SIDE), np.uint8)
    picture[25 + shift : 31 + shift, 8:48] = 255
    picture[8:48, 25 - shift : 31 - shift] = 255
    return picture


def finished(session: Session) -> None:
    end = time.monotonic() + 120
    while not session.job.done:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_packaged_digits_hold_no_training_image_and_fifty_tests_of_each_digit():
    material = packaged(examples=1000)
    assert material.dreamed
    assert material.data.shape == (SIDE, SIDE)
    assert np.bincount(material.data.test.y).tolist() == [50] * 10
    assert np.bincount(material.data.train.y).tolist() == [100] * 10
    parts = material.memory.means()
    assert len(parts.y) == 80  # eight averages of each digit


def test_dreams_are_the_same_for_the_same_number_and_leave_the_statistics_as_they_are(networks):
    memory = networks.material.memory
    before = {name: tensor.clone() for name, tensor in memory.tensors().items()}
    one, again, other = (dreams(memory, 30, number) for number in (3, 3, 4))
    assert np.array_equal(one.x, again.x)
    assert not np.array_equal(one.x, other.x)
    assert all(torch.equal(before[name], tensor) for name, tensor in memory.tensors().items())


def test_other_data_must_be_gray_pictures_of_28_pixels():
    with pytest.raises(DataError, match="28 x 28"):
        named("digits")


def test_a_reading_has_every_label_and_the_latents_of_the_best(networks):
    network = networks.get(FIRST).network
    picture = networks.material.data.test.x[3]
    found = reading(network, picture)
    assert found["best"] == int(network.predict(picture.reshape(1, -1))[0])
    assert found["shown"] == found["best"]
    assert len(found["scores"]) == 10
    assert [sum(value > 0 for value in layer) for layer in found["layers"]] == [30, 30]
    energies = np.square(found["layers"][0]).reshape(2, -1).sum(axis=1)
    assert energies[0] / energies.sum() == pytest.approx(
        found["by_layer"][0][found["best"]], abs=2e-3
    )


def test_a_reading_can_look_at_another_label(networks):
    network = networks.get(FIRST).network
    picture = networks.material.data.test.x[3]
    found = reading(network, picture)
    other = reading(network, picture, look=(found["best"] + 1) % 10)
    assert other["best"] == found["best"]
    assert other["layers"] != found["layers"]


def test_each_network_is_trained_once_and_unknown_ones_are_named(networks):
    assert networks.get(FIRST) is networks.get(FIRST)
    with pytest.raises(ConfigurationError, match="did you mean 'sffa'"):
        networks.get("sfa")


def test_teaching_leaves_the_given_network_and_statistics_alone(networks):
    network, memory = networks.get(FIRST).network, networks.material.memory
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    drawings = np.stack([cross(shift) for shift in range(-2, 3)])
    taught, kept = teach(network, memory, drawings, 10)
    assert network.classes == list(range(10))
    assert taught.classes == list(range(11))
    assert all(torch.equal(weights[n], value) for n, value in network.state_dict().items())
    assert set(kept.means().y.tolist()) == set(range(11))
    assert set(memory.means().y.tolist()) == set(range(10))


def test_five_drawings_teach_a_class_and_the_digits_stay(networks):
    network, data = networks.get(FIRST).network, networks.material.data
    before = accuracy_of(network, data)
    session = Sessions(networks).open()
    lesson = Lesson(algorithm=FIRST, name="plus", drawings=[pixels(cross(s)) for s in range(-2, 3)])
    session.teach(lesson)
    finished(session)
    assert session.job.error is None
    assert session.job.result["before"] == before
    assert session.job.result["after"] > before - 2
    found = session.read(Question(algorithm=FIRST, pixels=pixels(cross(0))))
    assert found["classes"][found["best"]] == "plus"
    assert len(session.remembered(Choice(algorithm=FIRST))["classes"]) == 11
    session.start_over(Choice(algorithm=FIRST))
    assert session.names(FIRST) == tuple(str(digit) for digit in range(10))


def test_naive_forgets_and_gaussian_remembers(networks):
    told = []
    result = learn_in_parts(networks.material.data, FIRST, tell=told.append)
    assert result["parts"] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert len(told) == 15
    last = {method["method"]: method["rows"][-1] for method in result["methods"]}
    assert max(last["naive"][:8]) < 20
    assert np.mean(last["gaussian"]) > np.mean(last["replay"]) > np.mean(last["naive"])


def test_sessions_do_not_see_what_others_taught(networks):
    sessions = Sessions(networks)
    one, other = sessions.open(), sessions.open()
    one.teach(Lesson(algorithm=FIRST, name="x", drawings=[pixels(cross(0))] * 5))
    finished(one)
    assert one.names(FIRST)[-1] == "x"
    assert other.names(FIRST)[-1] == "9"


def test_a_session_that_learns_refuses_more(networks):
    sessions = Sessions(networks)
    session = sessions.open()
    with networks.computing:  # the job waits
        session.learn_in_parts(Choice(algorithm=FIRST))
        with pytest.raises(BusyError, match="still learning"):
            session.learn_in_parts(Choice(algorithm=FIRST))
        sessions.stopping.asked = True
    finished(session)
    assert session.job.error == "stopped"


def test_the_session_that_rested_longest_makes_room(networks, monkeypatch):
    monkeypatch.setattr(sessions_module, "SESSIONS", 2)
    sessions = Sessions(networks)
    first, second = sessions.open(), sessions.open()
    sessions.get(first.id)
    sessions.open()
    assert len(sessions) == 2
    sessions.get(first.id)
    with pytest.raises(NotFoundError, match="reload"):
        sessions.get(second.id)


def test_an_idle_session_ends(networks, monkeypatch):
    sessions = Sessions(networks)
    session = sessions.open()
    assert sessions.open(session.id) is session
    monkeypatch.setattr(sessions_module, "IDLE_SECONDS", -1.0)
    assert sessions.open(session.id) is not session


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": ""}, "at least 1"),
        ({"name": "x" * 17}, "at most 16"),
        ({"name": "\x07"}, "can be read"),
        ({"name": " 7 "}, "already"),
        ({"drawings": [pixels(cross(0))] * 4}, "at least 5"),
        ({"drawings": ["@@@"] * 5}, "base64"),
        ({"drawings": [base64.b64encode(b"12").decode()] * 5}, "56 x 56"),
        ({"algorithm": "bp"}, "unknown algorithm"),
    ],
)
def test_a_wrong_lesson_is_refused_in_one_line(networks, given, said):
    session = Sessions(networks).open()
    lesson = {"algorithm": FIRST, "name": "x", "drawings": [pixels(cross(0))] * 5, **given}
    with pytest.raises(SFFAError, match=said) as refused:
        session.teach(Lesson(**lesson))
    assert "\n" not in str(refused.value)
    assert session.job.done


def test_a_network_has_room_for_a_few_own_classes(networks, monkeypatch):
    monkeypatch.setattr(sessions_module, "OWN_CLASSES", 0)
    session = Sessions(networks).open()
    with pytest.raises(DataError, match="room for 0"):
        session.teach(Lesson(algorithm=FIRST, name="x", drawings=[pixels(cross(0))] * 5))


def test_examples_are_test_images_of_the_class_asked_for(networks):
    session = Sessions(networks).open()
    content = base64.b64decode(session.example(Example(label=4, number=52))["pixels"])
    test = networks.material.data.test
    assert content == test.x[test.y == 4][2].tobytes()
    with pytest.raises(DataError, match="class 11"):
        session.example(Example(label=11))
