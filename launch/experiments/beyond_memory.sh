#!/usr/bin/env bash
# Tables larger than memory: trains a plain, a hashed and a quotient-remainder table of 10^10 ids each
# (configs/beyond_memory.yaml) on two PS nodes (rowhouse ps, each limited to 512 MB by a memory cgroup)
# and a worker (mpirun), until 6.7 GB of rows are touched; then the same without a limit, and compares the
# rows.
#   launch/experiments/beyond_memory.sh [--limit MB] [--samples N] [--out DIR] [--rows DIR] [--limited-only]
#     --limit MB      memory of each PS node (512), as its --memory_limit_mb and by the cgroup
#     --samples N     train samples, each touches 3 rows (8388608)
#     --out DIR       where reports go (runs/beyond_memory)
#     --rows DIR      directory of the rows (DIR of --out): 7 GB of disk, freed at the end
#     --limited-only  without the run to compare with, which needs 10 GB of memory
# Prints peak memory, disk, hit rate and samples/s of both. About 10 minutes on 2 cores.
# Exit code 0: the rows are equal and no PS node was killed; 1: not so; 2: a mistake of yours; 77: no
# memory cgroup can be made (it takes root); the reason is printed.
set -euo pipefail
source "$(dirname "$(realpath "$0")")/../find_rowhouse.sh"

limit=512
samples=8388608
out="$runs/beyond_memory"
rows=""
limited_only=""
fail() {
  echo "beyond_memory: $1" >&2
  exit "${2:-1}"
}
usage() { fail "$1; say launch/experiments/beyond_memory.sh --help" 2; }
while (($# > 0)); do
  case "$1" in
    --limit | --samples | --out | --rows) (($# > 1)) || usage "$1 without a value" ;;&
    --limit) limit="$2"; shift 2 ;;
    --samples) samples="$2"; shift 2 ;;
    --out) out="$2"; shift 2 ;;
    --rows) rows="$2"; shift 2 ;;
    --limited-only) limited_only=1; shift ;;
    --help) sed -n '2,16s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) usage "unknown argument $1" ;;
  esac
done
[[ "$limit" =~ ^[1-9][0-9]{1,5}$ ]] && ((limit >= 192)) || usage "--limit $limit is no number of MB, 192 or more"
[[ "$samples" =~ ^[1-9][0-9]{0,11}$ ]] || usage "--samples $samples is no number greater than 0"
command -v rowhouse >/dev/null || usage "no rowhouse in $bin: run launch/quickstart.sh first"
mkdir -p "$out" "${rows:=$out/rows}"
out="$(cd "$out" && pwd)"
rows="$(cd "$rows" && pwd)/beyond_memory.$$"

# ---- What is to be undone at the end, however it comes --------------------------------------
servers=()
groups=()
cleanup() {
  for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${servers[@]}"; do wait "$pid" 2>/dev/null || true; done
  for group in "${groups[@]}"; do rmdir "$group" 2>/dev/null || true; done
  rm -rf "$rows"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- A memory cgroup, of version 1 or 2 ------------------------------------------------------
make_group() {  # NAME; sets `group`
  if [[ -w /sys/fs/cgroup/memory/memory.limit_in_bytes || -d /sys/fs/cgroup/memory && -w /sys/fs/cgroup/memory ]]; then
    group="/sys/fs/cgroup/memory/$1"
    mkdir "$group" 2>/dev/null || fail "skipped: cannot make the memory cgroup $group" 77
    groups+=("$group")
    echo $((limit << 20)) >"$group/memory.limit_in_bytes"
    echo 0 >"$group/memory.swappiness" 2>/dev/null || true
  elif [[ -w /sys/fs/cgroup/cgroup.subtree_control ]] && grep -qw memory /sys/fs/cgroup/cgroup.controllers; then
    group="/sys/fs/cgroup/$1"
    mkdir "$group" 2>/dev/null || fail "skipped: cannot make the cgroup $group" 77
    groups+=("$group")
    [[ -e "$group/memory.max" ]] || fail "skipped: cgroups here have no memory controller" 77
    echo $((limit << 20)) >"$group/memory.max"
    echo 0 >"$group/memory.swap.max" 2>/dev/null || true
  else
    fail "skipped: no memory cgroup may be made here (it takes root and a writable /sys/fs/cgroup)" 77
  fi
}

start_server() {  # NODE GROUP-OR-EMPTY ROW_DIR MEMORY-FLAG; appends to servers and endpoints
  local log="$rows/ps$1.log" pid
  : >"$log"
  (
    [[ -z "$2" ]] || echo "$BASHPID" >"$2/cgroup.procs"
    exec rowhouse ps --listen=tcp://127.0.0.1:0 --row_dir="$3" "$4"
  ) >"$log" 2>&1 &
  pid=$!
  servers+=("$pid")
  for ((i = 0; i < 300; ++i)); do
    endpoint="$(sed -n 's/.*listening on \(tcp:[^ ;]*\).*/\1/p' "$log")"
    [[ -n "$endpoint" ]] && break
    kill -0 "$pid" 2>/dev/null || { cat "$log" >&2; fail "PS node $1 did not start"; }
    sleep 0.1
  done
  [[ -n "$endpoint" ]] || fail "PS node $1 says no endpoint for 30 s"
  endpoints+=("$endpoint")
}

train() {  # NAME MEMORY-FLAG GROUP...
  local name="$1" memory="$2" node started="$SECONDS"
  shift 2
  endpoints=()
  servers=()
  for node in 0 1; do
    mkdir -p "$rows/$name"
    start_server "$node" "${1:-}" "$rows/$name/ps$node" "$memory"
    shift || true
  done
  "$here/launch/mpirun.sh" -n 1 rowhouse train --config="$here/configs/beyond_memory.yaml" \
    --data_size="$samples" --ps_endpoints="$(IFS=,; echo "${endpoints[*]}")" \
    --report="$out/$name.json" >"$out/$name.txt" 2>"$rows/errors.txt" ||
    { cat "$rows/errors.txt" "$rows"/ps?.log >&2; fail "the $name run failed"; }
  digest="$(sed -n 's/^rows digest: //p' "$out/$name.txt")"
  echo "$name run: $(tail -n 1 "$out/$name.txt")"
  for node in 0 1; do
    echo "  PS node $node: peak memory $(awk '/VmHWM/ {printf "%.0f MB", $2 / 1024}' "/proc/${servers[node]}/status")," \
      "disk $(du -sm "$rows/$name/ps$node" | cut -f1) MB"
  done
  awk -v name="$name" '
    function value(line) { sub(/.*: /, "", line); sub(/,.*/, "", line); return line + 0 }
    /"table_loads"/ { exit }
    /"rows_first_touched"/ { first += value($0) } /"rows_from_memory"/ { memory += value($0) }
    /"rows_from_store"/ { disk += value($0) }
    END {
      all = first + memory + disk
      printf "  %d rows pulled: first touch %.1f %%, memory %.1f %%, disk %.1f %%\n",
        all, 100 * first / all, 100 * memory / all, 100 * disk / all
    }
  ' "$out/$name.json"
  echo "  rows digest: $digest ($((SECONDS - started)) s in all)"
  local ended
  for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${servers[@]}"; do
    ended=0
    wait "$pid" || ended=$?
    ((ended < 128)) || fail "a PS node of the $name run was ended by signal $((ended - 128))"
  done
  servers=()
  rm -rf "${rows:?}/$name"
}

mkdir -p "$rows"
make_group "rowhouse-$$-0"
first="$group"
make_group "rowhouse-$$-1"
echo "beyond_memory: $samples samples of 3 ids, two PS nodes of $limit MB each"
train limited "--memory_limit_mb=$limit" "$first" "$group"
[[ -n "$digest" ]] || fail "the limited run told no digest"
[[ -z "$limited_only" ]] || exit 0
limited="$digest"
train unlimited "--cache_mb=$((samples * 3 * 300 / 2 / 1048576 + 64))"
[[ "$digest" == "$limited" ]] || fail "the rows differ: $limited with the limit, $digest without"
echo "beyond_memory: the same rows with and without the limit"
