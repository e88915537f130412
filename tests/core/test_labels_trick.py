"""``contrast_with="current"`` with back-propagation: the labels trick."""

from __future__ import annotations

import pytest
import torch
from tests.continual.toy import small, toy

from sffa import Backprop
from sffa.continual import run
from sffa.errors import ConfigurationError


def test_new_examples_leave_old_outputs_alone_and_old_ones_compete_with_all():
    net = Backprop(4, (8,), [0, 1], contrast_with="current")
    net.add_classes([2, 3])
    x = torch.eye(4)
    net.loss(x[:2], torch.tensor([2, 3])).backward()
    grad = net.heads["all"].weight.grad
    assert float(grad[:2].abs().max()) == 0
    assert float(grad[2:].abs().max()) > 0
    net.zero_grad()
    net.loss(x, torch.tensor([2, 3, 0, 1])).backward()
    assert float(net.heads["all"].weight.grad[:2].abs().max()) > 0


def test_within_one_experience_it_is_plain_cross_entropy():
    x, y = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), torch.arange(6) % 3
    losses = [Backprop(4, (8,), range(3), contrast_with=w).loss(x, y) for w in ("seen", "current")]
    assert torch.equal(*losses)


def test_it_helps_without_replay():
    tricked = run(small("bp", network={"contrast_with": "current"}, epochs=8), toy())
    assert tricked.config.network == {"contrast_with": "current"}
    assert tricked.metrics["acc"] > run(small("bp", epochs=8), toy()).metrics["acc"] + 5


def test_other_options_stay_refused():
    with pytest.raises(ConfigurationError, match="back-propagation has no option 'gate'"):
        small("bp", network={"gate": 0.3})
