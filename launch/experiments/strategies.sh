#!/usr/bin/env bash
# The costs of each sharding strategy on one model: trains it under mpirun with every strategy, with bags
# pooled on the workers and on the shards ("+bags"), on the same data from the same seed. Prints a table
# of the runs, and writes to DIR a report for each, strategies.html and strategies.csv.
#   launch/experiments/strategies.sh CONFIG [--repeat N] [--out DIR] [--ps N] [--workers N] [--only NAMES]
#                        [--quick] [flags of rowhouse train]
#     CONFIG         a model, as for rowhouse train --config
#     --repeat N     every strategy N times, one round after the other; times get a spread (1)
#     --out DIR      where reports and pages go (runs/strategies); replaces those of an earlier time
#                    (STRATEGY-ROUND.json and .html, access_counts.json, strategies.html and .csv),
#                    no others
#     --ps N         PS nodes (2)        --workers N  workers (1)
#     --only NAMES   of these strategies, with commas between ("table_wise_lpt,row_wise+bags")
#     --quick        5 steps: only shows that everything works
# Flags such as --stop_after_steps=200 go to every run, flags that only some strategies read (--hot_rows,
# ...) to these; flags that differ between the runs (--strategy, ...) are refused. skew_aware gets
# --access_counts=FILE or, without it, counts of the first 100,000 samples (rowhouse plan --count_ids).
# Needs build/release/bin/rowhouse (launch/quickstart.sh builds it) or rowhouse on the PATH.
# A combination that is refused (a sum in bag order over several shards) is in the table with the reason.
# Exit code: 0; 1 if runs ended with different rows; 2 for a mistake of yours.
set -euo pipefail
source "$(dirname "$(realpath "$0")")/../find_rowhouse.sh"

usage() {
  echo "strategies: $1; say launch/experiments/strategies.sh CONFIG [--repeat N] [--out DIR] [--ps N]" \
    "[--workers N] [--only NAMES] [--quick] [flags of rowhouse train]" >&2
  exit 2
}
config=
repeat=1
out="$runs/strategies"
ps=2
workers=1
only=
samples=100000
flags=()
while (($# > 0)); do
  case "$1" in
    --repeat | --out | --ps | --workers | --only) (($# > 1)) || usage "$1 without a value" ;;&
    --repeat) repeat="$2"; shift 2 ;;
    --out) out="$2"; shift 2 ;;
    --ps) ps="$2"; shift 2 ;;
    --workers) workers="$2"; shift 2 ;;
    --only) only="$2"; shift 2
            [[ "$only" =~ ^[^,\ ]+(,[^,\ ]+)*$ ]] || usage "--only \"$only\": give names with commas between" ;;
    # Before the operator's own flags, which win.
    --quick) samples=2000; flags=(--stop_after_steps=5 --synthetic_test_samples=64 "${flags[@]}"); shift ;;
    --*=*)
      name="${1%%=*}"
      case "${name//-/_}" in
        __ps) usage "$1: say --ps ${1#*=}" ;;
        __strategy | __pool_on) usage "$1: every strategy gets its runs; say --only NAMES for some" ;;
        __plan) usage "$1: a plan is no strategy; train it alone (rowhouse train)" ;;
        __config | __label | __report) usage "$1: the script gives it to each run" ;;
      esac
      flags+=("$1"); shift ;;
    --*) usage "$1: give flags of rowhouse train as --name=value" ;;
    *) [[ -z "$config" ]] || usage "$config and $1: one model at a time"
       config="$1"; shift ;;
  esac
done
[[ -n "$config" ]] || usage "no CONFIG"
[[ -f "$config" ]] || usage "CONFIG $config is no file"
for number in "--repeat $repeat" "--ps $ps" "--workers $workers"; do
  [[ "$number" =~ \ [1-9][0-9]{0,2}$ ]] || usage "$number is no number from 1 to 999"
done
mkdir -p "$out"
out="$(cd "$out" && pwd)"

command -v rowhouse >/dev/null || usage "no rowhouse in $bin: run launch/quickstart.sh first"

# As their files register them; row_wise, the default, first.
names=(row_wise)
while read -r name; do
  [[ "$name" == row_wise ]] || names+=("$name")
done < <(sed -nE 's/.*AddShardingStrategy<.*>\("([a-z_]+)".*/\1/p' "$here"/sharding/plans/strategies/*.cc)
all=()
for name in "${names[@]}"; do all+=("$name" "$name+bags"); done
asked=()
[[ -z "$only" ]] || IFS=, read -ra asked <<<"$only"
for run in "${asked[@]}"; do
  [[ " ${all[*]} " == *" $run "* ]] ||
    usage "--only $only: \"$run\" is none of: ${names[*]} (with or without +bags)"
done
runs=()
for run in "${all[@]}"; do
  ((${#asked[@]} > 0)) && [[ " ${asked[*]} " != *" $run "* ]] || runs+=("$run")
done

# Text as a JSON string.
quoted() {
  local text="${1//\\/\\\\}"
  text="${text//\"/\\\"}"
  printf '"%s"' "${text//[[:cntrl:]]/ }"
}

# The operator's flags for a strategy: others would refuse what only some read. A strategy's class
# says what it reads (settings()).
flags_of() {
  local flag name
  for flag in "${flags[@]}"; do
    name="${flag%%=*}"
    name="${name#--}"
    name="${name//-/_}"
    case "$name" in
      capacities | row_cuts | column_cuts | strategy_seed | hot_rows)
        local class
        class="$(sed -nE "s/.*AddShardingStrategy<(\w+).*\(\"$1\".*/\1/p" "$here"/sharding/plans/strategies/*.cc)"
        sed -n "/^class $class /,/^};/p" "$here"/sharding/plans/strategies/*.cc | grep -q "\"$name\"" || continue ;;
    esac
    printf '%s\0' "$flag"
  done
}

errors="$(mktemp)"
trap 'rm -f "$errors"' EXIT
rm -f "$out"/strategies.html "$out"/strategies.csv
for run in "${all[@]}"; do
  for file in "$out/$run"-*.{json,html}; do
    [[ ! "$file" =~ -[1-9][0-9]*\.(json|html)$ ]] || rm -f "$file"
  done
done
# Where it cannot be counted, skew_aware is refused and says so.
if [[ " ${flags[*]}" != *" --access_counts="* && "${runs[*]}" == *skew_aware* ]] &&
  mapfile -d '' mine < <(flags_of row_wise) &&
  rowhouse plan --count_ids --max_samples="$samples" --config="$config" "${mine[@]}" \
    --out="$out/access_counts.json" >"$errors" 2>&1; then
  flags+=(--access_counts="$out/access_counts.json")
fi
reports=()
for ((round = 1; round <= repeat; ++round)); do
  for run in "${runs[@]}"; do
    pool_on=workers
    [[ "$run" != *+bags ]] || pool_on=shards
    mapfile -d '' mine < <(flags_of "${run%+bags}")
    report="$out/$run-$round.json"
    reports+=("$report")
    code=0
    outcome="$("$here/launch/mpirun.sh" -n $((ps + workers)) rowhouse train --config="$config" \
      "${mine[@]}" --ps="$ps" --strategy="${run%+bags}" --pool_on="$pool_on" --label="$run" \
      --report="$report" 2>"$errors" | tail -n 1)" || code=$?
    if ((code == 0)); then
      echo "strategies: $run: $outcome"
    elif ((code == 2)) && why="$(grep -m 1 -o 'rowhouse: .*' "$errors")"; then
      echo "strategies: $run: refused"
      printf '{"format": 1, "label": %s, "refused": %s}\n' \
        "$(quoted "$run")" "$(quoted "${why#rowhouse: }")" >"$report"
    else
      cat "$errors" >&2
      echo "strategies: $run: training failed" >&2
      exit 1
    fi
  done
done
echo

rowhouse compare --strategies "${reports[@]}" --out="$out/strategies.html" --csv="$out/strategies.csv"
echo "page: $out/strategies.html"
