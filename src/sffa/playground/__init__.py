"""The page on which one draws, teaches and watches: `sffa play`."""
