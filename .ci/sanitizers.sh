#!/usr/bin/env bash
# Runs the tests of threads under ThreadSanitizer, and all unit tests and the simulation under
# AddressSanitizer and UndefinedBehaviorSanitizer. Says what it ran and what it did not.
#   .ci/sanitizers.sh [--budget=SECONDS] [PIECE...]
#     --budget   begin nothing, and end what is running, after this many seconds (default: no limit)
#     PIECE      threads, sim, families or a floor: common, sharding, ps, worker, launch (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."

# Threads first: it is short, and a race is what no other test sees. Then the simulation, which runs
# more of the code than any floor's own tests.
all=(threads sim common sharding ps worker families launch)
budget=0
pieces=()
for argument in "$@"; do
  case " ${all[*]} " in
    *" $argument "*) pieces+=("$argument") ; continue ;;
  esac
  case "$argument" in
    --budget=*) budget="${argument#*=}" ; ((budget > 0)) || budget=1 ;;
    *)
      echo "sanitizers.sh: expected --budget=SECONDS and some of ${all[*]}, not $argument" >&2
      exit 2
      ;;
  esac
done
((${#pieces[@]} > 0)) || pieces=("${all[@]}")

# Runs a command until the time is up; 124: it was.
within_budget() {
  ((budget > 0)) || { "$@"; return; }
  local left=$((budget - SECONDS))
  ((left > 0)) || return 124
  timeout --kill-after=10 "$left" "$@"
}

run_piece() {
  local piece="$1" preset=dev
  [[ "$piece" != threads ]] || preset=tsan
  # Its folder's test program, and those of the folders in it.
  local targets
  mapfile -t targets < <(sed -nE "s#^rowhouse_tests\\(($piece(/[a-z]+)?) .*#\\1_tests#p" tests/CMakeLists.txt | tr / _)
  echo "sanitizers: $piece, preset $preset"
  cmake --preset "$preset" >/dev/null || return
  within_budget cmake --build --preset "$preset" --parallel "$(nproc)" --target "${targets[@]}" || return
  # Tests of programs that are not built are called NAME_NOT_BUILT, which has no slash.
  within_budget ctest --test-dir "build/$preset" --parallel "$(nproc)" --output-on-failure \
    -R "^$piece/" --no-tests=error
}

passed=() skipped=() failed=()
for piece in "${pieces[@]}"; do
  code=0
  run_piece "$piece" || code=$?
  case "$code" in
    0) passed+=("$piece") ;;
    124 | 137) skipped+=("$piece") ;;
    *) failed+=("$piece") ;;
  esac
done

say() {
  local what="$1"
  shift
  (($# == 0)) || echo "sanitizers: $what: $*"
}
say "passed" "${passed[@]}"
say "not run, as time does not allow it" "${skipped[@]}"
say "FAILED" "${failed[@]}"
((${#failed[@]} == 0))
