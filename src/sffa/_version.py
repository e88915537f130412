"""The version, read by the build and by ``sffa --version``."""

__version__ = "0.1.0"
