#!/bin/sh
# Runs the peers on what is in a folder.
#
#   run.sh FOLDER SECONDS THREADS          v.npy or v.mtx, w.npy, h.npy: a line peer,iterations,seconds,divergence per run
#   run.sh FOLDER TOPICS THREADS topics    train.mtx, held.mtx: a line peer,seconds,perplexity per peer
#
# The peers come from PyPI and live in a virtual environment beside this script, made on first use.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/.venv"
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c "import sklearn" 2>/dev/null; then
    echo "making a virtual environment with scikit-learn in $venv" >&2
    python3 -m venv "$venv" >&2
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
fi
export OMP_NUM_THREADS="$3" OPENBLAS_NUM_THREADS="$3" MKL_NUM_THREADS="$3"
exec "$venv/bin/python" "$here/sklearn_${4:-nmf}.py" "$1" "$2"
