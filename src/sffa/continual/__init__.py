"""Learning over time: scenarios, streams, strategies (one file each), metrics, the loop."""
