#!/usr/bin/env bash
# docs/adding.md, carried out: takes its changes from the page, applies them to a copy of the tree,
# builds rowhouse there and uses each. With ccache only what the changes touch is compiled.
#
#   adding_test.sh BUILD_DIR
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$1
skip() { echo "SKIPPED: $1"; exit 77; }
fail() { echo "FAILED: $1"; exit 1; }
command -v patch >/dev/null || skip "there is no patch; apt-get install patch"
command -v ccache >/dev/null || skip "there is no ccache, and without it this builds all of rowhouse"

# As deep as the tree's own build lies in it, so that relative paths are the same for ccache. Times
# of files are kept: a second run builds little.
copy=$build_dir/adding
mkdir -p "$copy/build"
find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
tar -C "$source_dir" --exclude=./build --exclude=./.git -cf - . | tar -C "$copy" -xf -

# Each change is a ```diff block of the page.
changes=$copy/build/changes
rm -rf "$changes"
mkdir -p "$changes"
awk -v dir="$changes" '
  /^```diff$/ { file = sprintf("%s/%02d.diff", dir, ++n); next }
  /^```$/ { file = ""; next }
  file != "" { print > file }' "$source_dir/docs/adding.md"
count=$(ls "$changes" | wc -l)
[ "$count" -eq 4 ] || fail "docs/adding.md has $count changes, not 4"
for change in "$changes"/*.diff; do
  patch -d "$copy" -p1 --forward --no-backup-if-mismatch <"$change" ||
    fail "docs/adding.md does not fit the tree: $(basename "$change")"
done

# The build as it is here: its type, compiler and options decide what ccache can give. But launch/ at -O0 and -g0: the
# changes touch headers that all of it includes, and nothing in it has to be fast here.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build_dir/CMakeCache.txt"; }
cmake -S "$copy" -B "$copy/build/release" -G Ninja \
  -DCMAKE_BUILD_TYPE="$(cached CMAKE_BUILD_TYPE)" \
  -DCMAKE_CXX_COMPILER="$(cached CMAKE_CXX_COMPILER)" \
  -DCMAKE_CXX_FLAGS="$(cached CMAKE_CXX_FLAGS)" \
  -DCMAKE_CXX_FLAGS_RELEASE="$(cached CMAKE_CXX_FLAGS_RELEASE)" \
  "-DROWHOUSE_LAUNCH_OPTIONS=-O0;-g0" \
  -DROWHOUSE_UNITY="$(cached ROWHOUSE_UNITY)" \
  -DROWHOUSE_SANITIZE="$(cached ROWHOUSE_SANITIZE)" >"$copy/build/cmake.log" ||
  { cat "$copy/build/cmake.log"; fail "the copy cannot be configured"; }
ninja -C "$copy/build/release" rowhouse >"$copy/build/ninja.log" ||
  { tail -40 "$copy/build/ninja.log"; fail "the copy cannot be built"; }
rowhouse=$copy/build/release/bin/rowhouse

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
model=(--arch_embedding_size=1-50-40 --data_size=256 --mini_batch_size=32 --shards=2 --print_freq=64)
train() { "$rowhouse" train "${model[@]}" "$@" 2>&1; }
digest() { grep '^rows digest: ' | head -1; }

# The setting, by flag and by YAML, as far as a shard.
"$rowhouse" train --help=all >help.txt
grep -q -- --max_push_rows help.txt || fail "--help does not know the setting"
train --max_push_rows=1 >refused.txt && fail "no shard reads the flag"
grep -q 'max_push_rows=1' refused.txt || { cat refused.txt; fail "the setting by flag"; }
printf 'storage: {max_push_rows: 2}\n' >limit.yaml
train --config=limit.yaml >refused.txt && fail "no shard reads the YAML key"
grep -q 'max_push_rows=2' refused.txt || { cat refused.txt; fail "the setting by YAML"; }
train --max_push_rows=1000 >allowed.txt || { cat allowed.txt; fail "the setting at a large value"; }

# The counter, in the report: table t0 has one row, and so one of its shards gets none of its rows.
train --arch_embedding_size=1 --report=report.json >out.txt || { cat out.txt; fail "training"; }
grep -Eq '"empty_pushes": *[1-9]' report.json || fail "the report has no empty_pushes above 0"

# The optimizer's option: other rows than without it.
train --optimizer=momentum >without.txt || { cat without.txt; fail "momentum"; }
train --optimizer=momentum --optimizer_nesterov >with.txt || { cat with.txt; fail "nesterov"; }
[ -n "$(digest <with.txt)" ] || { cat with.txt; fail "no digest is printed"; }
[ "$(digest <without.txt)" != "$(digest <with.txt)" ] || fail "nesterov changed no row"
train --optimizer=sgd --optimizer_nesterov >refused.txt && fail "sgd takes nesterov"
grep -q 'optimizer_nesterov=true' refused.txt || { cat refused.txt; fail "nesterov with sgd"; }

# The data source and its option.
train --data_generation=parity >two.txt || { cat two.txt; fail "the data source"; }
train --data_generation=parity --parity_tables=3 >three.txt || { cat three.txt; fail "its option"; }
[ "$(digest <two.txt)" != "$(digest <three.txt)" ] || fail "parity_tables changed no row"

echo "the four changes of docs/adding.md were applied, built and used"
