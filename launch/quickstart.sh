#!/usr/bin/env bash
# From a clone to a trained model: installs missing packages, builds, and trains configs/quickstart.yaml
# under mpirun with 2 PS nodes and 2 workers. Running it again replaces the run in runs/quickstart, or
# continues it with --load. Arguments go to `rowhouse train`.
# Its last line:  test AUC 0.xxxx logloss 0.xxxx  N samples/s  report: PATH/report.json
set -euo pipefail
cd "$(dirname "$0")/.."

launch/setup.sh
echo "quickstart: building build/release/bin/rowhouse"
cmake --preset release >/dev/null
cmake --build --preset release --target rowhouse --parallel "$(nproc)"

directory="$PWD/runs/quickstart"
echo "quickstart: training configs/quickstart.yaml with 2 PS nodes and 2 workers in $directory"
[[ " $* " == *" --load "* ]] || rm -rf "$directory"
launch/mpirun.sh -n 4 build/release/bin/rowhouse train --config=configs/quickstart.yaml --ps=2 \
  --model_dir="$directory" --row_dir="$directory/rows" "$@"
