"""Streams beside the paper's three scenarios, one file a kind."""
