#!/usr/bin/env bash
# Configuring again changes no command, so that a second quickstart.sh compiles nothing.
set -euo pipefail
source_dir="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(mktemp -d)"
trap 'rm -rf "$build"' EXIT
configure() { cmake -S "$source_dir" -B "$build" -G Ninja -DROWHOUSE_UNITY=ON >/dev/null; }
configure
cp "$build/compile_commands.json" "$build/first.json"
configure
diff "$build/first.json" "$build/compile_commands.json" | head -4 || true
cmp -s "$build/first.json" "$build/compile_commands.json" ||
  { echo "FAILED: configuring again changes how files are compiled"; exit 1; }
