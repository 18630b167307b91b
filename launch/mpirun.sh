#!/usr/bin/env bash
# mpirun with the options that Rowhouse needs, for any host and user:
#   launch/mpirun.sh -n 4 rowhouse train --flagfile=configs/mpi.flags ...
# `rowhouse` is the one on the PATH, or else the one that this tree built or that was installed. The first
# Ctrl-C or SIGTERM ends the run after its step and saves it, a second one kills it. Plain mpirun works
# too, but kills all ranks a second after Ctrl-C or SIGTERM, too soon for a save.
#   --max_restarts=N      a run that fails is started again from its last save, N times at most (0)
#   --allow_fewer_hosts   then without hosts of --hostfile that do not answer
# Exit codes: those of rowhouse; 75: saved and stopped by SIGUSR2, as a scheduler asks; 137: killed.
set -euo pipefail
source "$(dirname "$(realpath "$0")")/find_rowhouse.sh"
source "$here/launch/restarts.sh"
take_restart_flags "$@"

# PS ranks and workers are more processes than a small machine has cores, and mostly wait.
arguments=(--oversubscribe)
# A rank has compute, shard and I/O threads: bound to one core they would share it.
arguments+=(--bind-to none)
# A worker that waits for others yields its core.
arguments+=(--mca mpi_yield_when_idle 1)
# Processes of one host use shared memory. Copying through the kernel (CMA) needs rights that containers
# lack, and prints warnings.
arguments+=(--mca btl_vader_single_copy_mechanism none)
# Ctrl-C and SIGTERM are passed on as SIGUSR1 and SIGUSR2, which mpirun forwards to the ranks.
export ROWHOUSE_FORWARDS_SIGNALS=1
arguments+=(-x ROWHOUSE_FORWARDS_SIGNALS)
# kill -URG of this script asks all processes of the run what they wait for.
arguments+=(--mca ess_base_forward_signals SIGURG)

if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
if ! command -v mpirun >/dev/null; then
  echo "mpirun.sh: there is no mpirun; launch/setup.sh installs it (openmpi-bin)" >&2
  exit 2
fi

# Passes on mpirun's messages, which are on stderr in boxes of dashes, except those that repeat a rank's
# ("exited with non-zero status", "MPI_ABORT was invoked"). Only mpirun knows which rank a signal killed.
only_news() {
  trap '' INT TERM HUP USR1 USR2
  local line box='' in_box=false
  while IFS= read -r line || [[ -n "$line" ]]; do
    if [[ "$line" =~ ^-{60,}$ ]]; then
      if "$in_box" && [[ "$box" != *"non-zero exit code"* && "$box" != *"non-zero status"* &&
                         "$box" != *"MPI_ABORT was invoked"* ]]; then
        printf '%s' "$box"
      fi
      "$in_box" && in_box=false || in_box=true
      box=''
    elif [[ "$line" != "["*"has sent help message"* && "$line" != *"orte_base_help_aggregate"* &&
            "$line" != "mpirun: Forwarding signal "* ]]; then
      if [[ "$line" == "mpirun noticed that process rank "* ]]; then
        line="mpirun.sh: the run has failed: ${line#mpirun noticed that process }"
        line="${line/ with PID 0 / }"  # It knows no PID of ranks that it started through another.
      fi
      if "$in_box"; then box+="$line"$'\n'; else printf '%s\n' "$line"; fi
    fi
  done
  printf '%s' "$box"
}

# Whether the ranks on this host, mpirun's children, take SIGUSR2 (bit 11 of the mask) by now: before,
# it would kill them. Where there are none, as long as starting takes.
ranks_listen() {
  local rank caught name found=false
  for rank in $(cat "/proc/$mpirun_pid/task/$mpirun_pid/children" 2>/dev/null); do
    name="$(cat "/proc/$rank/comm" 2>/dev/null)" || continue
    [[ "$name" == rowhouse* ]] || continue
    found=true
    caught="$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$rank/status" 2>/dev/null)"
    (((0x${caught:-0} & 0x800) != 0)) || return 1
  done
  "$found" || ((SECONDS >= 5))
}

saved_and_stopped=75  # EX_TEMPFAIL: the same command with --load goes on
mpirun_pid=
was_asked=false
was_interrupted=false
is_preempted=false
ask_to_stop() {  # signal for the ranks, its name
  was_interrupted=true
  [[ -n "$mpirun_pid" ]] || exit "$([[ "$2" == SIGUSR2 ]] && echo "$saved_and_stopped" || echo 143)"  # None runs.
  if "$was_asked"; then
    echo "mpirun.sh: $2 again: the run ends at once" >&2
    kill -TERM "$mpirun_pid" 2>/dev/null || true
    [[ -z "${watch_pid:-}" ]] || kill -USR1 "$watch_pid" 2>/dev/null || true
    return
  fi
  was_asked=true
  echo "mpirun.sh: $2: the run stops after its step and saves what it trained; $2 again ends it at once" >&2
  # Ranks start one after another: in the first seconds all are seen to listen twice. Not sent again
  # and again: at its end mpirun takes these signals no more, and would be killed.
  local tries
  for ((tries = 0; tries < 100; ++tries)); do
    if ranks_listen; then
      ((SECONDS < 10)) || break
      sleep 0.4
      ranks_listen && break
    fi
    sleep 0.1
  done
  kill -s "$1" "$mpirun_pid" 2>/dev/null || true
}
trap 'ask_to_stop USR1 Ctrl-C' INT
trap 'ask_to_stop USR2 SIGTERM' TERM
trap 'ask_to_stop USR2 SIGHUP' HUP
trap 'is_preempted=true; ask_to_stop USR2 SIGUSR2' USR2
ask_what_it_waits_for() {
  was_interrupted=true
  [[ -z "$mpirun_pid" ]] || kill -URG "$mpirun_pid" 2>/dev/null || true
}
trap ask_what_it_waits_for URG

# mpirun may wait for ever for what is left of a run whose host is gone, or be stopped itself: it is killed
# once all ranks on this host have ended and it has not ended this many seconds later. Where no rank was seen, as on a
# host that only starts the run, it is left alone. After SIGUSR1, for the operator who asked twice, it has
# five seconds, whatever is left.
end_deadline="${MPIRUN_END_DEADLINE:-60}"
[[ "$end_deadline" =~ ^[1-9][0-9]{0,5}$ ]] ||
  refuse "MPIRUN_END_DEADLINE=$end_deadline: expected seconds, a whole number from 1 to 999999"
was_hung=false
end_a_hung_mpirun() {  # its process number; exit code 1 if it was killed
  local children child name state is_alive has_ranks=false quiet=0
  trap 'sleep 5 </dev/null >/dev/null 2>&1
        ! kill -KILL "$1" 2>/dev/null || { say "mpirun has not ended: it is killed"; exit 1; }' USR1
  while kill -0 "$1" 2>/dev/null; do
    sleep 1 </dev/null >/dev/null 2>&1
    is_alive=false children=
    read -r children 2>/dev/null <"/proc/$1/task/$1/children" || true
    for child in $children; do
      { read -r _ name state _ <"/proc/$child/stat"; } 2>/dev/null || continue
      [[ "$state" == Z || "$name" != "(rowhouse"* ]] || is_alive=true has_ranks=true
    done
    ! "$is_alive" || quiet=0
    "$has_ranks" && ((quiet++ >= end_deadline)) || continue
    trap '' TERM  # run_once may see mpirun's end, and end this, before its exit code is set
    say "the ranks on this host have ended, and mpirun has not within $end_deadline s: it is killed"
    kill -KILL "$1" 2>/dev/null || true
    return 1
  done
}

run_once() {  # sets status
  exec {news}> >(only_news >&2)
  local news_pid=$! watch_pid i
  SECONDS=0
  # Not of this process group, or Ctrl-C would reach mpirun as well; ended if this script is killed.
  setsid setpriv --pdeathsig TERM mpirun "${arguments[@]}" "${command[@]}" <&0 2>&"$news" &
  mpirun_pid=$!
  exec {news}>&-
  end_a_hung_mpirun "$mpirun_pid" &
  watch_pid=$!

  # A trap ends `wait` with a number of its own.
  while true; do
    was_interrupted=false
    status=0
    wait "$mpirun_pid" 2>/dev/null || status=$?  # It would say "Killed", with a line of this file.
    "$was_interrupted" || break
  done
  mpirun_pid=
  kill "$watch_pid" 2>/dev/null || true
  was_hung=false
  wait "$watch_pid" 2>/dev/null || (($? != 1)) || was_hung=true
  # What it said at last; a server that still ends has stderr open, so not for long.
  for ((i = 0; i < 20; ++i)); do
    kill -0 "$news_pid" 2>/dev/null || break
    sleep 0.05
  done
}

prepare_restarts
((max_restarts == 0)) || arguments+=(-x ROWHOUSE_RESTARTS)
while true; do
  run_once
  "$was_asked" || ((status == 0 || status == 2)) || ! plan_restart "$status" || continue
  break
done
((max_restarts == 0)) || rm -f "$model_dir/steps_done"
if ((status > 128 && max_restarts == 0)) && ! "$was_asked" && ! "$was_hung"; then
  signal=$((status - 128))
  echo "mpirun.sh: a process of the run was ended by signal $signal ($(kill -l "$signal")), and the run with it;" \
    "9 is often the kernel's, for want of memory (dmesg says so). What it had not saved is lost" >&2
fi
! "$is_preempted" || ((status != 0)) || status=$saved_and_stopped
exit "$status"
