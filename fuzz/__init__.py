"""Damaged and hostile input for everything that reads: only an SFFAError may come of it."""
