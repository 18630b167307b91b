#!/usr/bin/env bash
# Runs the checks of .clang-tidy over sources that changed.
#   .ci/tidy.sh [--base=COMMIT] [--all] [--budget=SECONDS]
#     --base     what changed since this commit (default: since 20 commits ago)
#     --all      every source, changed or not
#     --budget   begin no source after this many seconds, and say how many are left (default: no limit)
set -euo pipefail
cd "$(dirname "$0")/.."

base="$(git rev-parse --verify --quiet HEAD~20 || git hash-object -t tree /dev/null)"
deadline=0
for argument in "$@"; do
  case "$argument" in
    --base=*) base="${argument#*=}" ;;
    --all) base="$(git hash-object -t tree /dev/null)" ;;
    --budget=*) deadline=$(($(date +%s) + ${argument#*=})) ;;
    *)
      echo "tidy.sh: the options are --base, --all and --budget, not $argument" >&2
      exit 2
      ;;
  esac
done

cmake --preset work >/dev/null
mapfile -t sources < <(git diff --name-only --diff-filter=d "$base" HEAD -- \
  'common/*.cc' 'sharding/*.cc' 'ps/*.cc' 'worker/*.cc' 'launch/*.cc')

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
left="$scratch/left"
touch "$left"
# clang-tidy has no omp.h, and cannot read two attributes of GCC's.
sed 's/__malloc__ (omp_free),\? \?//' "$(g++ -print-file-name=include)/omp.h" >"$scratch/omp.h"
check() {
  if ((deadline > 0 && $(date +%s) >= deadline)); then
    echo "$1" >>"$left"
    return
  fi
  local found
  found="$(clang-tidy-19 -p build/work --quiet --extra-arg="-idirafter$scratch" "$1" 2>/dev/null)" ||
    { echo "$found"; return 1; }
}
export -f check
export left deadline scratch
printf '%s\n' "${sources[@]}" | xargs -r -P "$(nproc)" -I{} bash -c 'check {}' || {
  echo "tidy: FAILED" >&2
  exit 1
}
echo "tidy: $((${#sources[@]} - $(wc -l <"$left"))) of ${#sources[@]} changed sources are in order"
