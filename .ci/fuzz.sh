#!/usr/bin/env bash
# Fuzzes the readers of data that come from outside:  .ci/fuzz.sh SECONDS [TARGET...]
# Each target (tests/fuzz/TARGET_fuzz.cc; all by default) runs for SECONDS, from its corpus in
# tests/fuzz/corpus/TARGET. What it finds is left in build/fuzz/findings; put it into the corpus when
# it is mended. What it learns is kept in build/fuzz/learnt. Needs clang (launch/setup.sh --ci).
set -euo pipefail
cd "$(dirname "$0")/.."

SECONDS_EACH="${1:?usage: .ci/fuzz.sh SECONDS [TARGET...]}"
shift
if (($# == 0)); then
  for file in tests/fuzz/*_fuzz.cc; do set -- "$@" "$(basename "$file" _fuzz.cc)"; done
fi

cmake --preset fuzz >/dev/null
cmake --build build/fuzz --parallel "${FUZZ_JOBS:-$(nproc)}" -- "${@/%/_fuzz}"

for target in "$@"; do
  mkdir -p "build/fuzz/learnt/$target" "build/fuzz/findings"
  echo "fuzz: $target, $SECONDS_EACH s"
  "build/fuzz/bin/${target}_fuzz" -max_total_time="$SECONDS_EACH" -timeout=10 -rss_limit_mb=2048 \
    -max_len=8192 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="build/fuzz/findings/$target-" \
    "build/fuzz/learnt/$target" "tests/fuzz/corpus/$target"
done
