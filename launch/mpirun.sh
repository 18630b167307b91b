#!/usr/bin/env bash
# mpirun with what Rowhouse wants of it, so that this works on any host and as any user:
#   launch/mpirun.sh -n 4 rowhouse train --flagfile=configs/mpi.flags ...
# `rowhouse` is the one this tree built, unless it is on the PATH. Plain mpirun works as well.
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"

# PS ranks and workers are more processes than a small machine has cores, and mostly wait.
arguments=(--oversubscribe)
# A rank has compute, shard and I/O threads: bound to one core they would share it.
arguments+=(--bind-to none)
# A worker that waits for others gives its core away instead of spinning on it.
arguments+=(--mca mpi_yield_when_idle 1)
# One message of ours is enough where a rank ends with an error.
arguments+=(--quiet)
# Processes of one host meet in shared memory. Copying through the kernel (CMA) asks for rights
# that containers do not give, and complains about it.
arguments+=(--mca btl_vader_single_copy_mechanism none)

if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
if ! command -v rowhouse >/dev/null; then
  export PATH="$here/build/release/bin:$PATH"
fi
exec mpirun "${arguments[@]}" "$@"
