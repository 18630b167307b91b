#!/usr/bin/env bash
# The simulator against real runs: trains some models under mpirun with 2 PS nodes and 2 workers, measures
# this machine's constants beside them, simulates the same runs and prints the errors.
#   launch/experiments/simulated.sh [--repeat N] [--steps N] [--out DIR] [--ps N] [--workers N] [--quick]
#                        [--calibration FILE]
#     --repeat N   every model N times, one round after the other (5)
#     --steps N    of each run (400): the caches of small_cache are all full after some 140 of them, and the
#                  median step is to be one of those that follow
#     --out DIR    where reports, the calibration, simulated.csv and .md go (runs/simulated); replaces
#                  those of an earlier time
#     --ps N       PS nodes (2)           --workers N  workers (2)
#     --calibration FILE   these constants; else they are measured, before the runs
#     --quick      10 steps, once: only shows that everything works
# On a host of fewer cores than threads the runs share the cores, which the simulator models and says.
# Needs build/release/bin/rowhouse (launch/quickstart.sh builds it) or rowhouse on the PATH.
# Exit code: 0, however large the errors are; 1 if a run fails; 2 for a mistake of yours.
set -euo pipefail
source "$(dirname "$(realpath "$0")")/../find_rowhouse.sh"

usage() {
  echo "simulated: $1; say launch/experiments/simulated.sh [--repeat N] [--steps N] [--out DIR]" \
    "[--ps N] [--workers N] [--calibration FILE] [--quick]" >&2
  exit 2
}
repeat=5
steps=400
out="$runs/simulated"
ps=2
workers=2
calibration=
while (($# > 0)); do
  case "$1" in
    --repeat | --steps | --out | --ps | --workers | --calibration) (($# > 1)) || usage "$1 without a value" ;;&
    --repeat) repeat="$2"; shift 2 ;;
    --steps) steps="$2"; shift 2 ;;
    --out) out="$2"; shift 2 ;;
    --ps) ps="$2"; shift 2 ;;
    --workers) workers="$2"; shift 2 ;;
    --calibration) calibration="$2"; shift 2 ;;
    --quick) repeat=1; steps=10; shift ;;
    *) usage "unknown argument $1" ;;
  esac
done
for number in "--repeat $repeat" "--ps $ps" "--workers $workers"; do
  [[ "$number" =~ \ [1-9][0-9]{0,2}$ ]] || usage "$number is no number from 1 to 999"
done
[[ "$steps" =~ ^[1-9][0-9]{0,5}$ ]] || usage "--steps $steps is no number from 1 to 999999"
[[ -z "$calibration" || -f "$calibration" ]] || usage "--calibration $calibration is no file"
command -v rowhouse >/dev/null || usage "no rowhouse in $bin: run launch/quickstart.sh first"
mkdir -p "$out"
out="$(cd "$out" && pwd)"
rm -f "$out"/*-[0-9]*.{json,html} "$out"/simulated.csv "$out"/*.simulation.json

# Name, and what it changes of configs/strategies.yaml: rows that take the time, wide rows, layers that
# take it, many lookups, two shards a node, hashed tables, rows with more state, a cache smaller than the
# rows, bags that shards pool, whole tables and rows of each on all shards.
models=(
  "rows"
  "wide_rows --arch_sparse_feature_size=128 --arch_mlp_bot=13-128 --synthetic_bag_length=4"
  "layers --arch_mlp_bot=13-512-256-32 --arch_mlp_top=512-256-1 --synthetic_bag_length=1"
  "large_batch --mini_batch_size=4096 --synthetic_bag_length=2"
  "two_shards --shards=2 --arch_sparse_feature_size=64 --arch_mlp_bot=13-64 --synthetic_bag_length=8"
  "hashed --synthetic_bag_length=8"
  "adam --synthetic_bag_length=8"
  "small_cache --store=rocksdb --cache_mb=16 --synthetic_bag_length=8"
  "pooled --pool_on=shards --strategy=table_wise_lpt"
  "pooled_rows --pool_on=shards --mini_batch_size=2048 --synthetic_bag_length=10"
)
# What is said of tables has no flag: of these models the config itself is changed.
declare -A edits=(
  [hashed]='s/rows: (150000|400000)}/rows: \1, kind: hashed, buckets: 40000}/'
  [adam]='s/optimizer: adagrad /optimizer: adam /'
)
# The flags of a model, by its line.
flags_of() {
  local words
  read -ra words <<<"$1"
  local config="$here/configs/strategies.yaml"
  if [[ -n "${edits[${words[0]}]:-}" ]]; then
    config="$out/${words[0]}.yaml"
    sed -E "${edits[${words[0]}]}" "$here/configs/strategies.yaml" >"$config"
  fi
  flags=(--config="$config" --stop_after_steps="$steps" --data_size=10000000 --ps="$ps" "${words[@]:1}")
  [[ "$1" == *--store=* ]] || flags+=(--store=memory)
  name="${words[0]}"
}

if [[ -z "$calibration" ]]; then
  calibration="$out/calibration.json"
  rowhouse bench calibrate --calibration="$calibration" >"$out/calibration.txt"
fi
for ((round = 1; round <= repeat; ++round)); do
  for model in "${models[@]}"; do
    flags_of "$model"
    "$here/launch/mpirun.sh" -n $((ps + workers)) rowhouse train "${flags[@]}" \
      --report="$out/$name-$round.json" >"$out/run.txt" 2>&1 ||
      { cat "$out/run.txt" >&2; echo "simulated: $name: training failed" >&2; exit 1; }
  done
done
rm -f "$out/run.txt"

echo "model,simulated_ms,measured_ms,spread,error_step,error_bytes,error_load" >"$out/simulated.csv"
for model in "${models[@]}"; do
  flags_of "$model"
  reports=
  for ((round = 1; round <= repeat; ++round)); do reports+=",$out/$name-$round.json"; done
  echo
  echo "== $model"
  # Of phases of ranks that share cores, as the cost model has found it.
  rowhouse plan --simulate --jitter=0.1 "${flags[@]}" --workers="$workers" \
    --calibration="$calibration" --reports="${reports:1}" --json="$out/$name.simulation.json"
done
for model in "${models[@]}"; do
  flags_of "$model"
  awk -v name="$name" '
    # The part "beside" of the JSON, which has a figure a line.
    /"beside"/ { beside = 1 }
    beside && /"(step_ms|wire_bytes|load)"/ { match($0, /"[a-z_]+"/); part = substr($0, RSTART + 1, RLENGTH - 2) }
    beside && /"(simulated|measured|error|spread)"/ {
      match($0, /"[a-z]+"/); figure = substr($0, RSTART + 1, RLENGTH - 2)
      value = $0; sub(/.*: */, "", value); sub(/,.*/, "", value)
      if (part == "load" && figure == "error") {
        if (value * value > worst * worst) worst = value
      } else if (part != "load") of[part, figure] = value
    }
    END {
      printf "%s,%.3f,%.3f,%.3f,%.4f,%.4f,%.4f\n", name, of["step_ms", "simulated"],
             of["step_ms", "measured"], of["step_ms", "spread"], of["step_ms", "error"],
             of["wire_bytes", "error"], worst
    }' "$out/$name.simulation.json" >>"$out/simulated.csv"
done
echo
awk -F, '
  NR == 1 { printf "%-12s %12s %12s %8s %8s %8s %8s\n", "model", "simulated ms", "measured ms",
                   "spread %", "step %", "bytes %", "load %"; next }
  { printf "%-12s %12.3f %12.3f %8.1f %+8.1f %+8.1f %+8.1f\n", $1, $2, $3, 100 * $4, 100 * $5, 100 * $6, 100 * $7 }
' "$out/simulated.csv"
awk -F, '
  NR == 1 { print "| model | simulated ms | measured ms | spread | step | bytes | load |\n|---|---|---|---|---|---|---|"; next }
  { printf "| %s | %.2f | %.2f | %.0f %% | %+.1f %% | %+.1f %% | %+.1f %% |\n", $1, $2, $3, 100 * $4, 100 * $5,
           100 * $6, 100 * $7 }
' "$out/simulated.csv" >"$out/simulated.md"
echo "figures: $out/simulated.csv, and as a table for a page: $out/simulated.md"
