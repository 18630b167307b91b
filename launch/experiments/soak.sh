#!/usr/bin/env bash
# Kills and moves at random: a run of 3 PS nodes and 2 workers, with tables ten times its caches and a save
# every 50 steps, under launch/mpirun.sh --max_restarts. At random times one of its processes ends by kill -9: a
# worker, the server of a PS node, its supervisor, mpirun or mpirun.sh. A launcher that is gone is started again
# with --load: as it was, or under another strategy on other PS nodes and shards with another cache, to which either
# rowhouse ckpt reshard moves the save, which is killed, too, or the run itself. Each run must end with the rows digest
# of an undisturbed one.
#   launch/experiments/soak.sh [--kills N | --minutes M] [--every S] [--seed N] [--rows DIR]
#     --kills N   how many kills of a run in all (20)
#     --minutes M ends with the run under way after M minutes instead
#     --every S   seconds from a run's begin to a kill, at most (8)
#     --seed N    of the random times and victims (1)
#     --rows DIR  where models and rows are made and removed (TMPDIR, or /tmp)
# Prints a line for each kill, and the median and worst time from a kill to the next step trained.
# Exit code 0: every digest is equal; 1: not so; 2: a mistake of yours.
set -euo pipefail
source "$(dirname "$(realpath "$0")")/../find_rowhouse.sh"

kills=20 given_kills='' minutes='' every=8 seed=1 rows="${TMPDIR:-/tmp}"
fail() {
  echo "soak: $1" >&2
  exit "${2:-1}"
}
usage() { fail "$1; say rowhouse soak --help" 2; }
while (($# > 0)); do
  case "$1" in
    --kills | --minutes | --every | --seed | --rows) (($# > 1)) || usage "$1 without a value" ;;&
    --kills) kills="$2" given_kills=1; shift 2 ;;
    --minutes) minutes="$2"; shift 2 ;;
    --every) every="$2"; shift 2 ;;
    --seed) seed="$2"; shift 2 ;;
    --rows) rows="$2"; shift 2 ;;
    --help) sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) usage "unknown argument $1" ;;
  esac
done
for option in kills every seed; do
  [[ "${!option}" =~ ^[1-9][0-9]{0,5}$ ]] || usage "--$option=${!option} is no whole number from 1 to 999999"
done
[[ -z "$minutes" || "$minutes" =~ ^[1-9][0-9]{0,3}$ ]] || usage "--minutes=$minutes is no whole number from 1 to 9999"
[[ -z "$minutes" || -z "$given_kills" ]] || usage "--minutes and --kills are two ends: give one"
[[ -z "$minutes" ]] || kills=999999
is_over() { ((killed >= kills || ${minutes:-0} > 0 && SECONDS >= 60 * ${minutes:-0})); }
command -v rowhouse >/dev/null || usage "no rowhouse in $bin: run launch/quickstart.sh first"
work="$(mktemp -d "$rows/soak.XXXXXX")"
launcher='' kept=''
cleanup() {
  [[ -z "$launcher" ]] || kill -9 "$launcher" 2>/dev/null || true
  for ((i = 0; i < 150; ++i)); do [[ -n "$(processes)" ]] || break; sleep 0.1; done
  [[ -n "$kept" ]] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
RANDOM=$seed

# pid and kind of each process of the run.
processes() {
  local pid words program
  for pid in $(grep -lsF "$work" /proc/[0-9]*/environ | cut -d/ -f3); do
    { mapfile -td "" words <"/proc/$pid/cmdline"; } 2>/dev/null || continue
    program="${words[0]-}"
    case "${program##*/} ${words[1]-}" in
      "rowhouse train") echo "$pid rank" ;;
      "rowhouse ps") echo "$pid server" ;;
      "mpirun "*) echo "$pid mpirun" ;;
      "bash "*"/mpirun.sh") [[ "$pid" != "$launcher" ]] || echo "$pid launcher" ;;
    esac
  done
}

# 40 MB of rows; 3 caches of 1.3 MB at first.
ps=3 placed=() cache=0.1
model_flags=(--arch_embedding_size=200000-40000-60000 --arch_sparse_feature_size=32 --arch_mlp_bot=13-64-32
  --arch_mlp_top=64-1 --loss_function=bce --round_targets --num_indices_per_lookup=4 --mini_batch_size=128
  --data_size=128000 "--access_counts=$work/counts.json")
start() {  # MODEL FLAGS...
  local model="$1"
  shift
  TMPDIR="$work" "$here/launch/mpirun.sh" "$@" -n $((ps + 2)) rowhouse train "--ps=$ps" "${placed[@]}" "${model_flags[@]}" \
    --optimizer=adagrad "--cache_ratio=$cache" --print_freq=0 --rpc_deadline_ms=5000 --stop_deadline_ms=5000 \
    --model_dir="$work/$model" --save_every=50 "${flags[@]}" >>"$work/$model.out" 2>>"$work/$model.err" &
  launcher=$!
}
digest() { sed -n 's/^rows digest: //p' "$work/$1.out" | tail -1; }
step() { awk '{ print $3 + 0 }' "$work/$1/steps_done" 2>/dev/null || echo 0; }

# Of the hottest rows, which skew_aware keeps on the workers.
rowhouse plan "${model_flags[@]:0:$((${#model_flags[@]} - 1))}" --count_ids --max_samples=20000 \
  --out="$work/counts.json" >/dev/null
flags=()
start whole
wait "$launcher" || { cat "$work/whole.err" >&2; fail "the undisturbed run failed"; }
expected="$(digest whole)"
echo "soak: undisturbed: rows digest $expected"

# Other PS nodes, shards, strategy and cache.
divide_anew() {
  local caches=(0.05 0.1 0.3 1) strategies=(row_wise row_wise_hashed column_wise grid skew_aware)
  ps=$((RANDOM % 4 + 1)) moves=$((moves + 1)) cache="${caches[RANDOM % 4]}"
  placed=("--shards=$((RANDOM % 2 + 1))" "--strategy=${strategies[RANDOM % 5]}")
}

# Moves a save to a new model, to which the run then belongs. The move is killed, and goes on.
move() {  # directory of the save
  local to i mover
  divide_anew
  to="${model%%_to_*}_to_$moves"
  for ((i = 0; i < 4; ++i)); do
    rowhouse ckpt reshard --model_dir="$1" --out="$work/$to" "--ps=$ps" "${placed[@]}" \
      >>"$work/$to.move" 2>&1 &
    mover=$!
    if ((i < 3)); then
      sleep "0.$((RANDOM % 4))"
      ! kill -9 "$mover" 2>/dev/null || moves_killed=$((moves_killed + 1))
    fi
    ! wait "$mover" 2>/dev/null || break
  done
  [[ -e "$work/$to/manifest.json" ]] || { cat "$work/$to.move" >&2; kept=1; fail "no move of $1 to $work/$to"; }
  rm -rf "${work:?}/$model"
  model="$to"
  echo "soak: moved to $ps PS nodes, ${placed[*]}, cache $cache"
}

# The run moves the save when it begins.
move_in_run() {
  divide_anew
  echo "soak: moves to $ps PS nodes, ${placed[*]}, cache $cache"
  placed+=("--row_dir=$work/$model/rows_$moves")
}

# Starts the run again by hand if its launcher is gone: from a save, if there is one.
start_again() {
  local save
  for ((i = 0; i < 150; ++i)); do [[ -n "$(processes)" ]] || break; sleep 0.1; done
  flags=(--overwrite)
  save="$(compgen -G "$work/$model/checkpoints/step-*/manifest.json" | sort -V | tail -1)" || true
  [[ ! -e "$work/$model/manifest.json" ]] || save="$work/$model/manifest.json"
  if [[ -n "$save" ]]; then
    flags=(--load)
    case $((RANDOM % 4)) in
      0) move "${save%/manifest.json}" ;;
      1) move_in_run ;;
    esac
  fi
  start "$model" --max_restarts=9999
}
has_ended() { ! kill -0 "$launcher" 2>/dev/null; }

# After the launcher has ended: the digest is compared, or the run is started again.
begin_or_go_on() {
  local status=0
  wait "$launcher" || status=$?
  if ((status == 0)); then
    if [[ "$(digest "$model")" != "$expected" ]]; then
      kept=1
      fail "$model ended with rows digest $(digest "$model"); what it printed and saved is in $work"
    fi
    equal=$((equal + 1))
    rm -rf "${work:?}/$model"
    is_over || new_model
  else
    by_hand=$((by_hand + 1))
    start_again
  fi
}
new_model() {
  model="run_$((equal + 1))"
  flags=() ps=3 placed=() cache=0.1
  start "$model" --max_restarts=9999
}

restarts() {
  local count
  count="$(grep -c ' Restart [0-9]* of ' "$work/$model.err" 2>/dev/null)" || true
  echo "${count:-0}"
}

# Milliseconds from a kill until a run that began after it has trained a step; "": the launcher ended before.
recovery() {  # time of the kill, ms; restarts before
  local from began steps
  for ((i = 0; i < 2400; ++i)); do
    if (($(restarts) > $2)) && read -r from began steps 2>/dev/null <"$work/$model/steps_done" &&
      ((10#${began/./} > $1 && 10#$steps > from)); then
      echo $(($(date +%s%3N) - $1))
      return
    fi
    has_ended && return
    sleep 0.05
  done
  cat "$work/$model.err" >&2
  fail "no step within 120 s of a kill"
}

equal=0 killed=0 by_hand=0 moves=0 moves_killed=0 times=()
new_model
while ! is_over; do
  sleep "$((RANDOM * every / 32768)).$((RANDOM % 10))"
  if has_ended; then
    begin_or_go_on
    continue
  fi
  kinds=(rank server mpirun launcher)
  mapfile -t there < <(processes | grep " ${kinds[RANDOM % 4]}$")
  ((${#there[@]} > 0)) || continue
  read -r pid kind <<<"${there[RANDOM % ${#there[@]}]}"
  at="$(step "$model")" before="$(restarts)" now="$(date +%s%3N)"
  kill -9 "$pid" 2>/dev/null || continue
  killed=$((killed + 1))
  if [[ "$kind" == launcher ]]; then
    wait "$launcher" 2>/dev/null || true
    start_again
    before=-1
  fi
  took="$(recovery "$now" "$before")"
  [[ -z "$took" ]] || times+=("$took")
  [[ -z "$took" ]] && then="the launcher ended" || then="next step after $took ms"
  echo "soak: $killed: $kind at step $at of $model: $then"
done
while ! has_ended || [[ -e "$work/$model" ]]; do
  begin_or_go_on
done
recovery="no kill was followed by a step"
if ((${#times[@]} > 0)); then
  mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
  recovery="next step after ${times[${#times[@]} / 2]} ms (median), ${times[-1]} ms (worst)"
fi
echo "soak: $killed kills, $moves moves (killed $moves_killed times), $equal runs with the undisturbed rows" \
  "digest, $by_hand launchers started by hand after they stopped; $recovery"
