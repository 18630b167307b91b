#!/usr/bin/env bash
# Checks that every tracked .h and .cc is as clang-format writes it (.clang-format).
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.h' '*.cc' | xargs -0 -P "$(nproc)" -n 40 clang-format --dry-run --Werror || {
  echo "format: FAILED; run clang-format -i on these files" >&2
  exit 1
}
echo "format: $(git ls-files '*.h' '*.cc' | wc -l) files are in order"
