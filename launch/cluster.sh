#!/usr/bin/env bash
# Trains on several hosts: checks that all of them can take part, then starts mpirun.
#   launch/cluster.sh HOSTFILE CONFIG [flags of rowhouse train ...]
# See --help.
set -euo pipefail
source "$(dirname "$(realpath "$0")")/find_rowhouse.sh"
source "$here/launch/on_hosts.sh"

usage() {
  cat <<'END'
usage: launch/cluster.sh HOSTFILE CONFIG [flags of rowhouse train ...]

  HOSTFILE  one host a line, with its number of ranks (PS nodes and workers): hosta slots=4
  CONFIG    the model, a YAML file (configs/)

example: launch/cluster.sh hosts configs/criteo_kaggle.yaml --data=/data/train.txt --ps_per_host=2
         --model_dir=/shared/model --row_dir=/fast/rows

Start it on one of the hosts. Every host must have Open MPI and, under the same paths, this build, CONFIG,
flag files and the data, and must accept ssh from this host without a password. All of that, and the
settings, are checked before anything starts; each error is printed with its host, and the exit code is
then 2. The run prints at its start which host has which PS nodes. PS nodes listen on free ports, to
which every host connects before training: firewalls must allow that.

  --max_restarts=N      a run that fails is started again from its last save, N times at most (0); give
                        --model_dir on storage that this host sees, and --save_every
  --allow_fewer_hosts   then without hosts that do not answer: the others get their ranks. Otherwise
                        they are waited for

  LAUNCH_AGENT   the program that starts a command on a host, called with host and command (ssh)
  HOST_DEADLINE  the longest wait for a host's answer, in seconds (20)
  HOST_RETURN_DEADLINE  the longest wait for a host to come back before a restart, in seconds (600)
  MPIRUN_END_DEADLINE   how long mpirun may live when all ranks on this host have ended, in seconds (60)
END
}

wrong=0
complain() {
  echo "cluster.sh: $*" >&2
  wrong=1
}
refuse() {
  complain "$@"
  exit 2
}

for argument in "$@"; do
  [[ "$argument" != --help && "$argument" != -h ]] || { usage; exit 0; }
done
(($# >= 2)) || { usage >&2; exit 2; }
hostfile="$1" config="$2"
shift 2
restarts=()
for argument in "$@"; do
  shift
  case "$argument" in
    --max_restarts=* | --allow_fewer_hosts) restarts+=("$argument") ;;
    *) set -- "$@" "$argument" ;;
  esac
done
for file in "$hostfile" "$config"; do
  [[ -f "$file" && -r "$file" ]] || refuse "$file: no such file, or not readable"
done
config="$(realpath "$config")"
binary="$(command -v rowhouse)" || refuse "no rowhouse in $bin; ./launch/quickstart.sh builds it"

# ---- Hosts and ranks ----------------------------------------------------------------------------

hosts=() ranks=0 number=0
while IFS= read -r line || [[ -n "$line" ]]; do
  number=$((number + 1))
  # mpirun reads the file, too, and takes the letter for a part of the word before it.
  [[ "$line" != *$'\r' ]] || refuse "$hostfile line $number ends with a carriage return, as Windows" \
    "writes lines; take them away: sed -i 's/\\r\$//' $hostfile"
  line="${line%%#*}"
  read -r host rest <<<"$line" || true
  [[ -n "$host" ]] || continue
  [[ " $rest " =~ [[:space:]]slots=([1-9][0-9]*)[[:space:]] ]] ||
    refuse "$hostfile line $number: say how many ranks $host takes: $host slots=4"
  [[ " ${hosts[*]-} " != *" $host "* ]] ||
    refuse "$hostfile line $number: $host is named twice; add up its slots in one line"
  hosts+=("$host")
  ranks=$((ranks + BASH_REMATCH[1]))
done <"$hostfile"
((${#hosts[@]} > 0)) || refuse "$hostfile names no host"

# ---- Settings -----------------------------------------------------------------------------------

# The program's own message says what is wrong with them.
settings="$("$binary" train --config="$config" "$@" --print_config)" || exit 2
setting() { sed -n "s/^  $1: \"\(.*\)\"\$/\1/p" <<<"$settings"; }
data="$(setting data)"
interface="$(setting bind_interface)"
same=("$binary" "$config")  # files whose bytes must agree
for argument in "$@"; do
  [[ "$argument" != --flagfile=* ]] || same+=("$(realpath "${argument#--flagfile=}")")
done

# ---- Every host ---------------------------------------------------------------------------------

# Says "came", "entered", "CHECKSUM  PATH" of each file, "version TEXT", "orted PATH", "data BYTES";
# nothing of what is not there.
look="echo came; cd $(printf %q "$PWD") || exit; echo entered; sha256sum"
for file in "${same[@]}"; do look+=" $(printf %q "$file")"; done
look+=" 2>/dev/null; echo version \$($(printf %q "$binary") --version 2>&1 | head -n 1)"
look+="; echo orted \$(command -v orted)"
# Files and patterns joined by commas; of Terabyte, a file a day; or a data directory.
if [[ -n "$data" ]]; then
  look+="; echo data \$(all=$(printf %q "$data"); IFS=,; for file in \$all; do"
  look+=" [ ! -d \"\$file\" ] || file=\"\$file/samples.bin\";"
  look+=" stat -L -c %s \"\$file\" 2>/dev/null || stat -L -c %s \"\$file\"_[0-9]* 2>/dev/null; done)"
fi

answers="$(mktemp -d)"
trap 'rm -rf "$answers"' EXIT
for host in "${hosts[@]}"; do
  { on "$host" "$look" >"$answers/$host.out" 2>"$answers/$host.err" ||
    echo "(exit code $?)" >>"$answers/$host.err"; } &
done
wait
bash -c "$look" >"$answers/.this" 2>/dev/null </dev/null || true

answer() { sed -n "s|^$2 *||p" "$answers/$1"; }  # of a file here, what follows a word
checksum() { awk -v path="$2" 'substr($0, 67) == path { print $1 }' "$answers/$1"; }

for host in "${hosts[@]}"; do
  if ! grep -qx came "$answers/$host.out"; then
    complain "host $host cannot be reached by ${agent[0]} within $deadline s:" \
      "$(tr '\n' ' ' <"$answers/$host.err")"
    continue
  fi
  if ! grep -qx entered "$answers/$host.out"; then
    complain "host $host has no directory $PWD, where ranks would run"
    continue
  fi
  for file in "${same[@]}"; do
    its="$(checksum "$host.out" "$file")"
    if [[ -z "$its" ]]; then
      complain "host $host has no $file; copy it there (rsync -a $file $host:$file)"
    elif [[ "$its" != "$(checksum .this "$file")" ]]; then
      complain "host $host has another $file than this one; copy it there (rsync -a $file $host:$file)"
    elif [[ "$file" == "$binary" && "$(answer "$host.out" version)" != "$(answer .this version)" ]]; then
      complain "host $host cannot run $file: $(answer "$host.out" version); launch/setup.sh installs" \
        "what it needs"
    fi
  done
  [[ -n "$(answer "$host.out" orted)" ]] ||
    complain "host $host has no Open MPI on its PATH (orted); launch/setup.sh installs it"
  if [[ -n "$data" && -z "$(answer "$host.out" data)" ]]; then
    complain "host $host has no data file $data (seen from $PWD)"
  elif [[ -n "$data" && "$(answer "$host.out" data)" != "$(answer .this data)" ]]; then
    complain "host $host has $(answer "$host.out" data) bytes of $data, this one" \
      "$(answer .this data); give all hosts the same file"
  fi
done
((wrong == 0)) || exit 2
if ((${#hosts[@]} == 1)); then answering="1 host answers and has"; else answering="${#hosts[@]} hosts answer and have"; fi
echo "cluster: $answering this build; $ranks rank$( ((ranks == 1)) || echo s)"

# ---- The run ------------------------------------------------------------------------------------

arguments=(--hostfile "$hostfile" -n "$ranks")
[[ -z "${LAUNCH_AGENT-}" ]] || arguments+=(--mca plm_rsh_agent "$LAUNCH_AGENT")
# The dense exchange keeps to the network of the rows. An address alone is of one host only.
if [[ "$interface" == */* || "$interface" == *[a-z]* ]]; then
  arguments+=(--mca btl_tcp_if_include "$interface")
fi
rm -rf "$answers"
exec "$here/launch/mpirun.sh" "${restarts[@]}" "${arguments[@]}" "$binary" train --config="$config" "$@"
