# For the scripts beside it, which source it: on HOST COMMAND runs a command on a host.
#   LAUNCH_AGENT   the program that starts a command on a host, called with host and command (ssh)
#   HOST_DEADLINE  the longest wait for a host's answer, in seconds (20)
agent=(ssh -o BatchMode=yes -o ConnectTimeout=10)
[[ -z "${LAUNCH_AGENT-}" ]] || read -ra agent <<<"$LAUNCH_AGENT"
deadline="${HOST_DEADLINE:-20}"

# On this host as it is, because mpirun does so too.
on() {
  local host="$1" command="$2"
  if [[ "$host" == localhost || "$host" == "$(hostname)" || "$host" == "$(hostname -s)" ]]; then
    bash -c "$command" </dev/null
  else
    timeout "$deadline" "${agent[@]}" "$host" "$command" </dev/null
  fi
}
