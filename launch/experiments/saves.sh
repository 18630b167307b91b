#!/usr/bin/env bash
# What saves in mid-run cost: trains one table whose rows are all in memory and nearly all dirty, without
# saves and with them, and compares the rows.
#   launch/experiments/saves.sh [--mb N] [--steps N] [--save_every X] [--out DIR] [--rows DIR]
#     --mb N          MiB of rows (1024)
#     --steps N       of each run; a step touches a twentieth of the rows (120)
#     --save_every X  as of rowhouse train (1min)
#     --out DIR       where the models go (runs/saves); the reports of both runs stay there
#     --rows DIR      directory of the rows (DIR of --out): six times their size, freed at the end
# Prints for both runs the seconds of training, for how long steps stood still, and how long they waited
# for copies. Exit code 0: the rows are equal; 1: not so; 2: a mistake of yours.
set -euo pipefail
source "$(dirname "$(realpath "$0")")/../find_rowhouse.sh"

mb=1024
steps=120
save_every=1min
out="$runs/saves"
rows=""
fail() {
  echo "saves: $1" >&2
  exit "${2:-1}"
}
usage() { fail "$1; say launch/experiments/saves.sh --help" 2; }
while (($# > 0)); do
  case "$1" in
    --mb | --steps | --save_every | --out | --rows) (($# > 1)) || usage "$1 without a value" ;;&
    --mb) mb="$2"; shift 2 ;;
    --steps) steps="$2"; shift 2 ;;
    --save_every) save_every="$2"; shift 2 ;;
    --out) out="$2"; shift 2 ;;
    --rows) rows="$2"; shift 2 ;;
    --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) usage "unknown argument $1" ;;
  esac
done
[[ "$mb" =~ ^[1-9][0-9]{0,6}$ ]] || usage "--mb $mb is no number greater than 0"
[[ "$steps" =~ ^[1-9][0-9]{0,6}$ ]] || usage "--steps $steps is no number greater than 0"
command -v rowhouse >/dev/null || usage "no rowhouse in $bin: run launch/quickstart.sh first"
mkdir -p "$out" "${rows:=$out/rows}"
out="$(cd "$out" && pwd)"
rows="$(cd "$rows" && pwd)/saves.$$"
trap 'rm -rf "$rows"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

row_bytes=272 # 64 floats and a trailer
count=$((mb * 1048576 / row_bytes))
batch=$((count / 20 / 20))
train() { # NAME FLAG...
  rowhouse train --arch_embedding_size="$count" --arch_sparse_feature_size=64 --arch_mlp_bot=4-64 \
    --arch_mlp_top=8-1 --loss_function=bce --round_targets --num_indices_per_lookup=20 \
    --num_indices_per_lookup_fixed --mini_batch_size="$batch" --data_size=$((batch * steps)) \
    --learning_rate=0.01 --print_freq=0 --cache_mb=$((mb + mb / 8)) --model_dir="$out/$1" \
    --row_dir="$rows/$1" --overwrite "${@:2}" >"$out/$1.log" 2>&1 || fail "the run ended with an error: $out/$1.log"
  rm -rf "${rows:?}/$1"
}
figure() { # NAME KEY of report.json
  python3 - "$out/$1/report.json" "$2" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
run = report["runs"][-1]
saves = report["checkpoints"] or {}
waits = sum(shard["save_wait_ms"] for shard in report["shards"]) / 1000
print({"seconds": run["seconds"], "made": saves.get("made", 0), "still": saves.get("seconds", 0),
       "longest": saves.get("longest_seconds", 0), "waits": waits, "digest": report["rows"]["digest"]}[sys.argv[2]])
PY
}
train without
train with --save_every="$save_every" --keep=1
echo "$count rows of $row_bytes bytes, $((batch * 20)) lookups a step, $steps steps"
printf '%-20s %10s %7s %22s %22s\n' "" "train (s)" "saves" "stood still (s, most)" "waited for copies (s)"
for run in without with; do
  printf '%-20s %10.2f %7d %12.3f %9.3f %22.3f\n' "$run" "$(figure $run seconds)" "$(figure $run made)" \
    "$(figure $run still)" "$(figure $run longest)" "$(figure $run waits)"
done
[[ "$(figure without digest)" == "$(figure with digest)" ]] || fail "the rows of the two runs differ"
echo "the rows are equal: $(figure with digest)"
