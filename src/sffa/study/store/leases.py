"""When a claim is over: judged by this process's steady clock, as the wall clock may jump.

A lease is a time of the wall clock of its owner, and at once a sign of life, as each heartbeat
changes it. Whoever wants the run waits until the sign stays the same for longer than an owner that
lives would let it, whatever either wall clock shows.
"""

from __future__ import annotations

import time

from sffa.record import Key


class Leases:
    """The leases that one process has seen, and until when it believes in each."""

    def __init__(self) -> None:
        self._believed: dict[Key, tuple[object, float]] = {}

    def note(self, key: Key, stamp: float, lease: float) -> None:
        """Remember a lease that was given here, and for how long."""
        self._believed[key] = stamp, time.monotonic() + lease

    def is_over(self, key: Key, stamp: object, lease: float) -> bool:
        """Whether a lease has shown no sign of life for as long as it takes.

        One not seen before is believed for half a ``lease`` beyond its end, an end that is at most
        two away: an owner that lives renews it four times a ``lease``.
        """
        now = time.monotonic()
        seen, until = self._believed.get(key, (None, 0.0))
        if seen is None or seen != stamp:
            ahead = stamp - time.time() if isinstance(stamp, int | float) else 0.0
            until = now + min(max(ahead, 0.0), 2 * lease) + lease / 2
            self._believed[key] = stamp, until
        return now > until
