"""Eight starts: what does `klnmf factorize --starts 8` find, and for how much work?

    python starts.py starts.csv --klnmf target/release/klnmf --data DATA [--seeds 10]
    python starts.py starts.csv --table

The first form compares the result with those of eight whole runs, the first of which is the single start. It
appends one line for each case that the file lacks. The second one prints the table of the record.

Work is counted in iterations. The first ten are multiplicative updates and count a fourth, as in the rule.
"""

import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from cases import arguments, complete, read

STARTS, WARM_UP, CHEAP = 8, 10, 0.25
BRCA, REUTERS, FACES = "mutations/brca560.npy", "text/reuters.npz", "faces/cbcl_leeseung_uint8.npy"
PROBLEMS = [(BRCA, 8), (BRCA, 12), (BRCA, 20), (REUTERS, 10), (REUTERS, 20), (FACES, 20)]
COLUMNS = ["data", "rank", "seed", "one", "eight_starts", "best_of_eight_runs", "work"]


def fit(klnmf, data, rank, seed, starts):
    """The JSON of a factorisation."""
    with tempfile.TemporaryDirectory() as folder:
        limits = ["--rank", str(rank), "--seed", str(seed), "--starts", str(starts), "--threads", "1"]
        command = [klnmf, "factorize", data, *limits, "--json", "--quiet", "--out", f"{folder}/model.npz"]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def work(start):
    return start["iterations"] - (1 - CHEAP) * min(start["iterations"], WARM_UP)


def compared(klnmf, folder, name, rank, seed):
    """The rest of a line of the file."""
    many = fit(klnmf, folder / name, rank, seed, STARTS)
    whole = [fit(klnmf, folder / name, rank, seed + k, 1)["divergence"] for k in range(STARTS)]
    spent = sum(map(work, many["starts"])) / work(many["starts"][0])
    return [f"{x:.4f}" for x in (whole[0], many["divergence"], min(whole))] + [f"{spent:.3f}"]


def table(file):
    problems = defaultdict(list)
    for line in read(file):
        numbers = [float(line[key]) for key in COLUMNS[3:]]
        for name in (f"{Path(line['data']).stem} r = {line['rank']}", "all"):
            problems[name].append(numbers)
    problems["all"] = problems.pop("all")
    print("| data | one start | `--starts 8` | work | above 2.5 | worse than one |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for name, cases in problems.items():
        above = [median(100 * (case[k] / case[2] - 1) for case in cases) for k in (0, 1)]
        spent = [case[3] for case in cases]
        print(
            f"| {name} | {above[0]:.3f} % | {above[1]:.3f} % | {median(spent):.2f}, {max(spent):.2f} "
            f"| {sum(x > 2.5 for x in spent)} of {len(cases)} | {sum(case[1] > case[0] for case in cases)} |"
        )


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of KLNMF_DATA")
    given = parser.parse_args()
    if given.table:
        table(given.file)
    else:
        # Seeds are so far apart that no two cases share a start.
        cases = [(*problem, seed) for seed in range(0, 10 * given.seeds, 10) for problem in PROBLEMS]
        complete(given.file, COLUMNS, cases, lambda *case: compared(given.klnmf, given.data, *case))
