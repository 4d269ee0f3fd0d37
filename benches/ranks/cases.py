"""A table with one line for each case, which is completed where it was left."""

import argparse
import csv
from pathlib import Path


def complete(file, columns, cases, find):
    """Appends a line for each case that the file lacks. A case is what the first columns hold."""
    file.touch()
    with file.open(newline="") as lines:
        done = [line[: len(cases[0])] for line in csv.reader(lines)]
    with file.open("a", newline="") as lines:
        write = csv.writer(lines, lineterminator="\n").writerow
        if not done:
            write(columns)
        for case in cases:
            if [str(part) for part in case] not in done:
                write([*case, *find(*case)])
                lines.flush()


def read(file):
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def arguments(doc):
    """The arguments that all scripts have."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=doc, formatter_class=raw)
    parser.add_argument("file", type=Path)
    parser.add_argument("--klnmf", default="klnmf", help="the program")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--table", action="store_true")
    return parser
