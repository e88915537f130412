"""Experiments as data: configuration, grid, run, record store, executors, the paper's tables."""
