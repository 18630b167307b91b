#!/usr/bin/env bash
# Bytes of rows against what a model learns: trains every file of configs/compression under mpirun with
# 1 PS node and 1 worker, on the same data from the same seed. Prints a table of the runs, and writes to
# DIR a report for each, compression.html and compression.csv. About 6 minutes on 2 cores.
#   launch/experiments/compression.sh [--repeat N] [--out DIR] [--quick]
#     --repeat N   trains each N times, with seeds 123, 124, ... of data and initial values (1)
#     --out DIR    where reports and pages go (runs/compression); replaces those of an earlier time
#     --quick      little data, half a minute: only shows that everything works
# COMPRESSION_QUICK=1 in the environment is the same as --quick.
# Needs build/release/bin/rowhouse (launch/quickstart.sh builds it) or rowhouse on the PATH.
# Its last lines say how far plain tables are from the best possible AUC, and how far the best tables of a
# quarter of the bytes are from plain ones. The exit code does not depend on them.
set -euo pipefail
source "$(dirname "$(realpath "$0")")/../find_rowhouse.sh"

repeat=1
out="$runs/compression"
quick="${COMPRESSION_QUICK:-}"
usage() {
  echo "compression: $1; say launch/experiments/compression.sh [--repeat N] [--out DIR] [--quick]" >&2
  exit 2
}
while (($# > 0)); do
  case "$1" in
    --repeat | --out) (($# > 1)) || usage "$1 without a value" ;;&
    --repeat) repeat="$2"; shift 2 ;;
    --out) out="$2"; shift 2 ;;
    --quick) quick=1; shift ;;
    *) usage "unknown argument $1" ;;
  esac
done
[[ "$repeat" =~ ^[1-9][0-9]{0,2}$ ]] || usage "--repeat $repeat is no number from 1 to 999"
mkdir -p "$out"
out="$(cd "$out" && pwd)"

command -v rowhouse >/dev/null || usage "no rowhouse in $bin: run launch/quickstart.sh first"

flags=()
if [[ -n "$quick" ]]; then
  flags+=(--data_size=40960 --lr_num_decay_steps=20 --synthetic_test_samples=4096)
fi

# plain first, which the others are compared with.
configs=("$here/configs/compression/plain.yaml")
for config in "$here"/configs/compression/*.yaml; do
  [[ "$config" == */plain.yaml ]] || configs+=("$config")
done

reports=()
for ((seed = 123; seed < 123 + repeat; ++seed)); do
  for config in "${configs[@]}"; do
    name="$(basename "$config" .yaml)"
    ((repeat == 1)) || name="$name-$seed"
    report="$out/$name.json"
    rm -f "$report" "${report%.json}.html"
    # The last line of a run says what it reached.
    outcome="$("$here/launch/mpirun.sh" -n 2 rowhouse train --config="$config" --ps=1 \
      --numpy_rand_seed="$seed" --report="$report" "${flags[@]}" 2>"$out/errors.txt" | tail -n 1)" ||
      { cat "$out/errors.txt" >&2; echo "compression: $name: training failed" >&2; exit 1; }
    echo "compression: $name: $outcome"
    reports+=("$report")
  done
done
rm -f "$out/errors.txt"
echo

rowhouse compare "${reports[@]}" --out="$out/compression.html" --csv="$out/compression.csv"
echo

# Means over seeds, by the name without the seed. Columns of the CSV: run, samples_per_second,
# test_auc, test_logloss, rows_bytes, of_plain, test_auc_ceiling, report.
awk -F, -v repeat="$repeat" '
  NR > 1 {
    name = $1
    if (repeat > 1) sub(/-[0-9]+$/, "", name)
    if (!(name in runs)) order[++names] = name
    ++runs[name]; auc[name] += $3; of_plain[name] = $6; ceiling[name] += $7
    if (runs[name] == 1 || $3 < low[name]) low[name] = $3
    if (runs[name] == 1 || $3 > high[name]) high[name] = $3
  }
  END {
    plain = auc["plain"] / runs["plain"]
    if (repeat > 1) {
      printf "%-14s %9s %8s %12s %8s\n", "mean of " repeat, "of plain", "test AUC", "minus plain", "spread"
      for (i = 1; i <= names; ++i) {
        n = order[i]
        printf "%-14s %9.4f %8.4f %+12.4f %8.4f\n", n, of_plain[n], auc[n] / runs[n], auc[n] / runs[n] - plain, high[n] - low[n]
      }
      print ""
    }
    for (i = 1; i <= names; ++i) {
      n = order[i]
      if (n ~ /_4$/ && (best == "" || auc[n] / runs[n] > auc[best] / runs[best])) best = n
    }
    printf "plain tables: %.4f below the best possible AUC (aim: at most 0.003)\n", ceiling["plain"] / runs["plain"] - plain
    printf "a quarter of the bytes: %s, %+.4f against plain tables (aim: at least -0.002)\n", best, auc[best] / runs[best] - plain
  }' "$out/compression.csv"
echo "page: $out/compression.html"
