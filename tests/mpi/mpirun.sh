#!/usr/bin/env bash
# mpirun.sh -n RANKS PROGRAM [ARGS...]: mpirun as every test starts it, also as root in a container
# and with more ranks than cores.
exec mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 "$@"
