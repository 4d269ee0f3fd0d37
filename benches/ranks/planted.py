"""Planted ranks: does the range of `klnmf rank` contain the number of parts that made the counts?

    python planted.py planted.csv --klnmf target/release/klnmf [--seeds 10]
    python planted.py planted.csv --table

The first form appends one line for each case that the file lacks, so that a stopped run can be continued. The
second one prints the table of the record. Needs numpy.

The parts are Dirichlet(0.2). The weights are Gamma(0.5) times a lognormal depth of every column: σ = 0.7,
and a median of 5000 counts. Counts are Poisson, or negative binomial of a given size.
"""

import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from cases import arguments, complete, read

ROWS, COLUMNS, DEPTH = 96, 200, 5000
RANKS, SIZES = [3, 6, 9, 14], ["poisson", "50", "10"]
COLUMNS_OF_FILE = [
    *("counts", "rank", "seed", "low", "high", "over", "poisson_best", "phi", "size"),
    *("stable", "largest_silhouette", "unconverged"),
]


def planted(size, rank, seed):
    """Counts with `rank` parts."""
    rng = np.random.default_rng([seed, rank, 0 if size == "poisson" else int(size)])
    parts = rng.dirichlet(np.full(ROWS, 0.2), rank).T
    weights = rng.gamma(0.5, size=(rank, COLUMNS))
    weights *= DEPTH * rng.lognormal(0, 0.7, COLUMNS) / (0.5 * rank)
    mean = parts @ weights
    if size != "poisson":
        mean *= rng.gamma(float(size), size=mean.shape) / float(size)
    return rng.poisson(mean).astype(float)


def found(klnmf, size, rank, seed):
    """What `klnmf rank` finds, as the rest of a line of the file."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/v.npy", planted(size, rank, seed))
        ranks = ["--from", str(max(rank - 3, 1)), "--to", str(rank + 5), "--replicates", "3"]
        command = [klnmf, "rank", f"{folder}/v.npy", *ranks, "--json", "--quiet", "--out", f"{folder}/found"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    answer = json.loads(done.stdout)
    low, high = answer["range"] or ["", ""]
    silhouette = {row["rank"]: row["silhouette_mean"] or -1 for row in answer["ranks"]}
    return [
        *(low, high, answer["dispersion"]["over"], answer["poisson"]["best"]),
        *(answer["dispersion"][key] and round(answer["dispersion"][key], 2) for key in ("phi", "size")),
        *(answer["stable"], max(silhouette, key=silhouette.get)),
        sum(row["unconverged"] for row in answer["ranks"]),
    ]


def table(file):
    groups = defaultdict(list)
    for line in read(file):
        groups[line["counts"]].append(line)
    print("| counts | range contains the truth | widest range, high − low | reported as over-dispersed "
          "| Poisson folds | stable | silhouette |\n| --- | --- | --- | --- | --- | --- | --- |")
    for counts, lines in groups.items():
        ranges = [(int(line["low"]), int(line["rank"]), int(line["high"])) for line in lines if line["low"]]
        cells = [sum(low <= rank <= high for low, rank, high in ranges), max(r[2] - r[0] for r in ranges)]
        cells.append(sum(line["over"] == "True" for line in lines))
        for rule in ["poisson_best", "stable", "largest_silhouette"]:
            cells.append(sum(line[rule] == line["rank"] for line in lines))
        cells[0] = f"{cells[0]} of {len(lines)}"
        name = counts if counts == "poisson" else f"negative binomial, size {counts}"
        print("|", " | ".join(str(cell) for cell in [name.capitalize(), *cells]), "|")


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    if given.table:
        table(given.file)
    else:
        cases = [(size, rank, seed) for seed in range(given.seeds) for size in SIZES for rank in RANKS]
        complete(given.file, COLUMNS_OF_FILE, cases, lambda *case: found(given.klnmf, *case))
