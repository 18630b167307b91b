# For mpirun.sh, which sources it: starts a run again after it failed, at most --max_restarts times.
#   take_restart_flags ARGUMENTS...  sets max_restarts, and `command`: the arguments without its own flags
#   prepare_restarts                 reads what it must know of the command; exit code 2 if that is not enough
#   plan_restart STATUS              whether the run that ended so is to be started again; waits until then
#                                    and sets `command`
# The run tells in MODEL_DIR/steps_done how far it came: step it began from, when (seconds since 1970), steps
# done. It hears of its restarts by ROWHOUSE_RESTARTS (launch/report/restarts.h).
source "$here/launch/on_hosts.sh"

say() { echo "mpirun.sh: $*" >&2; }
refuse() {
  say "$@"
  exit 2
}

max_restarts=0 allow_fewer_hosts=false
take_restart_flags() {
  command=()
  local argument
  for argument in "$@"; do
    case "$argument" in
      --max_restarts=*) max_restarts="${argument#*=}" ;;
      --allow_fewer_hosts) allow_fewer_hosts=true ;;
      *) command+=("$argument") ;;
    esac
  done
  [[ "$max_restarts" =~ ^(0|[1-9][0-9]{0,3})$ ]] ||
    refuse "--max_restarts=$max_restarts: expected a whole number from 0 to 9999"
}

setting() { sed -n "s/^  $1: \"\?\([^\"]*\)\"\?\$/\1/p" <<<"$settings"; }

# Whether the command has a flag; the last one counts. Flag files are read, too.
has_flag() {
  local flag is_on=false
  while read -r flag; do
    case "$flag" in
      "--$1" | "--$1=true") is_on=true ;;
      "--$1="*) is_on=false ;;
    esac
  done < <(for flag in "${first_command[@]}"; do
    if [[ "$flag" == --flagfile=* ]]; then cat "${flag#*=}"; else printf '%s\n' "$flag"; fi
  done)
  "$is_on"
}

# Of the saves in the model directory, a line each: step, and what tells a file from one that replaced it.
saves() {
  local file steps
  for file in "$model_dir"/manifest.json "$model_dir"/checkpoints/step-*/manifest.json; do
    steps="$(sed -n 's/^ "steps": \([0-9]*\),\?$/\1/p' "$file" 2>/dev/null)" || true
    [[ -z "$steps" ]] || echo "$steps $(stat -c '%n %i %y' "$file" 2>/dev/null)"
  done
}

# The step of the newest save that this command made, or may go on from; "": there is none.
newest_save() { grep -vxFf <(echo "$earlier_saves") <(saves) | sort -n | tail -1 | cut -d ' ' -f 1; }

prepare_restarts() {
  if ((max_restarts == 0)); then
    ! "$allow_fewer_hosts" || refuse "--allow_fewer_hosts is for restarts: give --max_restarts=N, too"
    return 0
  fi
  first_command=("${command[@]}")
  local at
  for ((at = 1; at < ${#command[@]}; ++at)); do
    [[ "${command[at]}" != train || "${command[at - 1]##*/}" != rowhouse ]] || break
  done
  ((at < ${#command[@]})) || refuse "--max_restarts is for rowhouse train, which the command does not name"
  # The program's own message says what is wrong with them.
  settings="$("${command[@]:at - 1}" --print_config)" || exit 2
  model_dir="$(setting model_dir)"
  [[ -n "$model_dir" ]] ||
    refuse "--max_restarts needs --model_dir, and --save_every: without saves there is nothing to go on from"
  [[ "$(setting stop_after_steps)" == 0 ]] ||
    refuse "--max_restarts and --stop_after_steps do not go together: each restart would count anew"
  note_hosts "${command[@]:0:at - 1}"
  earlier_saves=
  has_flag load || earlier_saves="$(saves)"
  restarts=0 waits=0 has_trained=false best_step=-1 best_save=-1 best_moved=0 failures=
  begin_attempt
}

# ---- Hosts --------------------------------------------------------------------------------------

note_hosts() {  # mpirun's arguments
  hosts=() ranks='' hostfile_at=
  local at
  for ((at = 1; at < $#; ++at)); do
    case "${!at}" in
      --hostfile | -hostfile | --machinefile | -machinefile) hostfile_at=$at ;;
      -n | -np) ranks="${@:at + 1:1}" ;;
    esac
  done
  if [[ -n "$hostfile_at" ]]; then
    mapfile -t hosts < <(sed 's/#.*//' "${@:hostfile_at + 1:1}" | awk 'NF { print $1 }')
  fi
  if "$allow_fewer_hosts" && [[ -z "$hostfile_at" || ! "$ranks" =~ ^[1-9][0-9]*$ ]]; then
    refuse "--allow_fewer_hosts needs --hostfile and -n RANKS, which go to the hosts that are left"
  fi
}

silent_hosts() {
  local host pids=() answers
  answers="$(mktemp -d)"
  for host in "${hosts[@]}"; do
    { on "$host" 'echo came' >"$answers/$host" 2>/dev/null || true; } &
    pids+=($!)
  done
  ((${#pids[@]} == 0)) || wait "${pids[@]}"
  for host in "${hosts[@]}"; do
    grep -qx came "$answers/$host" || echo "$host"
  done
  rm -rf "$answers"
}

# False if too few hosts are there. Puts the ranks of those that are gone onto the others, if it may.
choose_hosts() {  # step of the newest save
  local gone host left=() rank per_host end=$((SECONDS + ${HOST_RETURN_DEADLINE:-600}))
  gone="$(silent_hosts)"
  if [[ -n "$gone" ]] && ! "$allow_fewer_hosts"; then
    say "no answer from ${gone//$'\n'/, }; waiting for at most $((end - SECONDS)) s (--allow_fewer_hosts goes on" \
      "without)"
    while [[ -n "$gone" ]] && ((SECONDS < end)); do
      sleep 1
      gone="$(silent_hosts)"
    done
    [[ -z "$gone" ]] || say "no answer from ${gone//$'\n'/, }; go on with --load when they are back"
  fi
  [[ -n "$gone" ]] || return 0
  "$allow_fewer_hosts" || return 1
  mapfile -t left < <(printf '%s\n' "${hosts[@]}" | grep -vxFf <(echo "$gone"))
  if ((${#left[@]} == 0)); then
    say "no host answers; go on with --load when they are back"
    return 1
  fi
  for host in $gone; do
    say "host $host does not answer and is left out; its ranks go to the other hosts.$(lost_parts "$host" "$1")"
  done
  fewer_hosts="${fewer_hosts-$(mktemp)}"
  trap 'rm -f "$fewer_hosts"' EXIT
  for ((rank = 0; rank < ranks; ++rank)); do echo "${left[rank % ${#left[@]}]}"; done |
    sort | uniq -c | awk '{ print $2 " slots=" $1 }' >"$fewer_hosts"
  command[hostfile_at]="$fewer_hosts"
  # As many PS nodes as before, and so as many workers.
  per_host="$(setting ps_per_host)"
  ((per_host == 0)) || command+=(--ps_per_host=0 "--ps=$((per_host * ${#hosts[@]}))")
}

lost_parts() {  # host, step of the newest save
  local file parts
  for file in "$model_dir/checkpoints/step-$2/manifest.json" "$model_dir/manifest.json"; do
    parts="$(grep -c "\"host\": \"$1\"" "$file" 2>/dev/null)" || true
    ((${parts:-0} == 0)) || break
  done
  ((${parts:-0} == 0)) || echo " It held $parts of the parts of the save of step $2: on a disk of its own they" \
    "are gone, and the run will say so; in a --row_dir that all hosts see they are still there"
}

# ---- A run that failed --------------------------------------------------------------------------

# By the kernel of this host, so far.
kills_for_memory() { echo $(($(sed -n 's/^oom_kill //p' /proc/vmstat) + 0)); }

begin_attempt() {
  rm -f "$model_dir/steps_done"
  earlier_kills="$(kills_for_memory)"
  export ROWHOUSE_RESTARTS="[$failures]"
}

cause_of() {  # exit code
  local signal=$(($1 - 128))
  if (($(kills_for_memory) > earlier_kills)); then
    echo "the kernel killed a process for want of memory (--memory_limit_mb or --cache_mb bound it)"
  elif "$was_hung"; then
    echo "mpirun did not end after its ranks"
  elif ((signal > 0)); then
    echo "a process of the run was ended by signal $signal ($(kill -l $signal))"
  else
    echo "the run ended with exit code $1"
  fi
}

# The flags by which the command goes on; $1: the step of the newest save.
choose_flags() {
  command=("${first_command[@]}")
  if [[ -n "$1" ]]; then
    command+=(--load --overwrite=false)
  elif "$has_trained" && ! has_flag load; then
    command+=(--overwrite)  # Of the rows that this command itself has begun.
  fi
}

# A move of rows notes there what is done; they are gone when it is whole.
bytes_of_journals() {
  local rows
  rows="$(setting row_dir)"
  cat "${rows:-$model_dir/rows}"/move-*.list 2>/dev/null | wc -c || true
}

plan_restart() {  # exit code
  local cause from began step stopped save delay tenth moved
  local unknown='null, "began_at": null'
  ((max_restarts > 0)) || return 1
  cause="$(cause_of "$1")"
  if [[ ! -d "$model_dir" ]]; then
    say "$cause. It is not started again: $model_dir, which has the saves, is not seen from this host. Start" \
      "the command on the host of the first worker, with --load"
    return 1
  fi
  save="$(newest_save)"
  if read -r from began step 2>/dev/null <"$model_dir/steps_done"; then
    step=$((10#$step)) stopped="$(stat -c %.3Y "$model_dir/steps_done")"
    has_trained=true
    failures="${failures/"$unknown"/"$from, \"began_at\": $began"}"
  else
    step=$best_step stopped="$(date +%s.%3N)"
  fi
  moved="$(bytes_of_journals)"
  if ((restarts > 0 && step <= best_step && ${save:--1} <= best_save && moved <= best_moved)); then
    say "$cause. It is not started again: it failed twice without one more step, save or moved row between, and would" \
      "again. Mend what it says above, then go on with --load"
    return 1
  fi
  if ((restarts == max_restarts)); then
    say "$cause. It is not started again: it was, $max_restarts times (--max_restarts)"
    return 1
  fi
  best_step=$((step > best_step ? step : best_step)) best_save="${save:-$best_save}" best_moved="$moved"
  ((SECONDS < 600)) || waits=0  # A run that went well for a while is not kept waiting.
  delay=$((waits < 6 ? 1 << waits : 60))
  waits=$((waits + 1)) restarts=$((restarts + 1))
  failures+="${failures:+, }{\"why\": \"$cause\", \"reached_step\": $((step < 0 ? 0 : step)), "
  failures+="\"stopped_at\": $stopped, \"from_step\": $unknown}"
  say "$cause. Restart $restarts of $max_restarts in $delay s, from" \
    "$([[ -n "$save" ]] && echo "the save of step $save" || echo "the beginning: nothing was saved")"
  for ((tenth = 0; tenth < 10 * delay; ++tenth)); do sleep 0.1; done  # A signal is heard in between.
  choose_flags "$save"
  choose_hosts "$save" || return 1
  begin_attempt
}
