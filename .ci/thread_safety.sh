#!/usr/bin/env bash
# Checks with clang's thread safety analysis that whatever is GUARDED_BY a lock is used with it held.
#   .ci/thread_safety.sh [BUILD]   BUILD: a build directory that was configured without unity builds
#                                  (default build/work, which is then configured), for the flags in its
#                                  compile_commands.json
# Checked are the sources that use common/mutex.h, and those that include a header that does. Every
# other lock is refused: the analysis would not see it.
set -euo pipefail
cd "$(dirname "$0")/.."
build="${1:-build/work}"
[[ $# -gt 0 ]] || cmake --preset work >/dev/null
commands="$build/compile_commands.json"
[[ -f "$commands" ]] || { echo "thread_safety: no $commands; configure $build first" >&2; exit 2; }

if git grep -nE 'std::(mutex|shared_mutex|recursive_mutex|condition_variable|lock_guard|unique_lock|scoped_lock)\b' \
  -- '*.h' '*.cc' ':!common/mutex.h'; then
  echo "thread_safety: FAILED: use Mutex, MutexLock and CondVar of common/mutex.h, which clang checks" >&2
  exit 1
fi

mapfile -t headers < <(git grep -l '"common/mutex.h"' -- '*.h')
includes="$(printf '%s|' "${headers[@]}" common/mutex.h)"
mapfile -t sources < <(git grep -lE "#include \"(${includes%|})\"" -- '*.cc')

# The defines and include paths of a source's command, one word a line.
flags_of() {
  grep -F -- " -c $PWD/$1\"" "$commands" | head -n 1 | tr ' ' '\n' |
    awk 'system_path { print "-isystem"; print; system_path = 0 }
         /^-isystem$/ { system_path = 1 }
         /^-[DI]/ { gsub(/\\\\?"/, "\""); print }'
}

check() {
  mapfile -t flags < <(flags_of "$1")
  if ((${#flags[@]} == 0)); then
    echo "thread_safety: $1 is in no target of $build" >&2
    return 1
  fi
  analyse "${flags[@]}" "$1"
}

# Not -w: it would silence the analysis, too.
analyse() {
  clang++ -fsyntax-only -std=c++20 -Wno-everything -Wthread-safety -Werror=thread-safety "$@"
}
export -f check flags_of analyse

# Without an error here nothing below would be checked.
if analyse -I. -x c++ - 2>/dev/null <<'EOF'
#include "common/mutex.h"
struct Unguarded {
  void Write() { value = 1; }
  rowhouse::Mutex mutex;
  int value GUARDED_BY(mutex) = 0;
};
EOF
then
  echo "thread_safety: FAILED: the analysis does not find a member that is written without its lock" >&2
  exit 1
fi
export commands build

printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -I{} bash -c 'check {}' || {
  echo "thread_safety: FAILED" >&2
  exit 1
}
echo "thread_safety: ${#sources[@]} sources are in order"
