#!/usr/bin/env bash
# Installs missing packages, a browser included, builds `release` and runs the tests; ends with ctest's
# summary and a line that tells the outcome.
#   launch/test.sh                all tests
#   launch/test.sh -R sim/        other arguments go to ctest
#   launch/test.sh --sanitizers   then also preset dev (ASan, UBSan: labels unit and sim) and preset tsan
#                                 (label threads)
set -euo pipefail
cd "$(dirname "$0")/.."

sanitizers=false
ctest_arguments=()
for argument in "$@"; do
  case "$argument" in
    --sanitizers) sanitizers=true ;;
    *) ctest_arguments+=("$argument") ;;
  esac
done

launch/setup.sh --browser

jobs="$(nproc)"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
outcome=()
failed=false
# Builds a preset and runs its tests, failures with their output.
build_and_test() {
  local preset="$1"
  echo "test: building preset $preset with $jobs jobs"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "$jobs"
  echo "test: running the tests of preset $preset"
  # Runs of several processes wait as long as they compute: three tests on two cores.
  ctest --preset "$preset" --parallel $((jobs + jobs / 2)) "${ctest_arguments[@]}" 2>&1 | tee "$log" || failed=true
  outcome+=("$preset: $(grep -E '^[0-9]+% tests passed' "$log" || echo 'no test ran')")
}

build_and_test release
if "$sanitizers"; then
  build_and_test dev
  build_and_test tsan
fi

# The last line tells the outcome.
line="$(printf '%s; ' "${outcome[@]}")"
if "$failed"; then
  echo "test: FAILED: ${line%; }"
  exit 1
fi
echo "test: passed: ${line%; }"
