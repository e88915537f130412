"""The command, with every run that this process begins noted in the file RUN_LOG."""

import os
import sys
from pathlib import Path
from typing import Any

from command import main  # type: ignore[import-not-found]

from sffa.record import Record
from sffa.study.configuration import parse
from sffa.study.executors import serial

do = serial.execute


def noted(values: dict[str, Any], unfinished: Path | None = None) -> Record:
    with open(os.environ["RUN_LOG"], "a") as log:
        log.write(f"{os.getpid()} {'-'.join(map(str, parse(values).key))}\n")
    return do(values, unfinished)


if __name__ == "__main__":
    serial.execute = noted
    sys.exit(main())
