"""A hook of mkdocs: put the playground without a server into the site, as play.html."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_post_build(config: Any) -> None:
    """Train the networks and write the page, some twenty seconds of one core."""
    import torch

    from sffa.playground.material import packaged
    from sffa.playground.networks import Networks
    from sffa.playground.page import write_page

    torch.set_num_threads(1)
    write_page(Path(config["site_dir"]) / "play.html", Networks(packaged()))
