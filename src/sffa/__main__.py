"""``python -m sffa`` is ``sffa``."""

from sffa.cli import main

if __name__ == "__main__":
    main()
