#!/usr/bin/env bash
# Runs tests under ThreadSanitizer, AddressSanitizer and UndefinedBehaviorSanitizer: threads, the
# simulation, then the floors that changed last, the most changed first. Says what it ran and what it
# did not. Everything, whatever changed: launch/test.sh --sanitizers.
#   .ci/sanitizers.sh [--base=COMMIT] [--pieces=N] [--budget=SECONDS] [--dry_run]
#     --base      what changed since this commit (default: since 20 commits ago)
#     --pieces    run at most so many of them (default: all)
#     --budget    begin nothing, and end what is running, after so many seconds (default: no limit)
#     --dry_run   only say what would run
set -euo pipefail
cd "$(dirname "$0")/.."

base="$(git rev-parse --verify --quiet HEAD~20 || git hash-object -t tree /dev/null)"
budget=0
most_pieces=0
dry_run=false
for argument in "$@"; do
  case "$argument" in
    --base=*) base="${argument#*=}" ;;
    --pieces=*) most_pieces="${argument#*=}" ;;
    --budget=*) budget="${argument#*=}" ; ((budget > 0)) || budget=1 ;;
    --dry_run) dry_run=true ;;
    *)
      echo "sanitizers.sh: the options are --base, --pieces, --budget and --dry_run, not $argument" >&2
      exit 2
      ;;
  esac
done

changed="$(git diff --name-only "$base" HEAD -- '*.h' '*.cc')"
files_in() { grep -cE "^($1)/" <<<"$changed" || true; }

# Floors of unit tests with their numbers of changed files, the most changed first.
floors() {
  for floor in common sharding ps worker launch; do
    local files
    files="$(files_in "$floor|tests/$floor")"
    ((files == 0)) || echo "$files $floor"
  done | sort -rn | cut -d' ' -f2
}

# Threads first: it is short, and a race is what no other test sees.
pieces=()
# Then the simulation, which runs more of the code than any floor's own tests.
(($(files_in 'common|ps|worker|tests/threads') == 0)) || pieces+=(threads)
(($(files_in 'common|sharding|ps|worker|tests/sim|tests/testing') == 0)) || pieces+=(sim)
mapfile -t -O "${#pieces[@]}" pieces < <(floors)
(($(files_in 'sharding|ps|worker|tests/families') == 0)) || pieces+=(families)
if ((${#pieces[@]} == 0)); then
  echo "sanitizers: no source changed since ${base:0:12}"
  exit 0
fi

skipped=()
if ((most_pieces > 0)); then
  skipped=("${pieces[@]:most_pieces}")
  pieces=("${pieces[@]:0:most_pieces}")
fi

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

if "$dry_run"; then
  echo "sanitizers: would run, in this order: ${pieces[*]}"
  exit 0
fi
passed=() failed=()
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
say "not run, as time or --pieces does not allow it" "${skipped[@]}"
say "FAILED" "${failed[@]}"
((${#failed[@]} == 0))
