"""Threads of our own: the same numbers, nobody else disturbed, nothing lost."""

from __future__ import annotations

import os
import threading

import pytest
import torch

from sffa.kernels import team

LARGE = 10 * team.LEAST


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_every_row_is_done_once():
    done = [0] * 101

    def count(first: int, last: int) -> None:
        for row in range(first, last):
            done[row] += 1

    team.run(count, 101, LARGE)
    assert done == [1] * 101


def test_small_work_stays_on_the_calling_thread():
    names = []
    team.run(lambda first, last: names.append(threading.current_thread()), 100, 1000)
    assert names == [threading.current_thread()]


def test_large_work_is_shared():
    names = set()
    team.run(lambda first, last: names.add(threading.current_thread().name), 100, LARGE)
    assert len(names) == 2


def test_an_error_in_any_part_reaches_the_caller_and_the_team_goes_on():
    def fail(first: int, last: int) -> None:
        if first:
            raise ValueError("the second part")

    with pytest.raises(ValueError, match="the second part"):
        team.run(fail, 100, LARGE)
    test_every_row_is_done_once()


def test_torch_has_its_threads_back_afterwards_and_in_other_threads():
    if not team.limits_torch():
        pytest.skip("this torch does not let a thread be limited alone")
    seen = []
    with team.one_thread():
        assert torch.get_num_threads() == 1
        assert team.threads() == 2
        other = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        other.start()
        other.join()
    assert seen == [2]
    assert torch.get_num_threads() == 2


def test_work_inside_work_is_done_where_it_is():
    inner = []

    def outer(first: int, last: int) -> None:
        team.run(lambda i, j: inner.append((i, j)), 10, LARGE)

    team.run(outer, 100, LARGE)
    assert inner == [(0, 10), (0, 10)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_a_team_of_its_own():
    test_large_work_is_shared()
    child = os.fork()
    if not child:
        try:
            test_every_row_is_done_once()
            test_large_work_is_shared()
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_loops_stay_on_the_calling_thread_with_small_steps_and_not_with_many_labels():
    if not team.limits_torch():
        pytest.skip("this torch does not let a thread be limited alone")
    with team.one_thread():
        assert team.loop_threads() == 1
    with team.one_thread(loops=False):
        assert team.loop_threads() == team.threads() == 2
    assert team.loop_threads() == 2
