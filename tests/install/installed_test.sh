#!/usr/bin/env bash
# `cmake --install BUILD --prefix P`: what lies under P, and that it works from there, with nothing
# of the tree on the PATH.
#   installed_test.sh BUILD_DIR
set -euo pipefail
build="$1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "installed: $1" >&2; exit 1; }

prefix="$work/prefix"
cmake --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; fail "cmake --install failed"; }
share="$prefix/share/rowhouse" doc="$prefix/share/doc/rowhouse"
for file in "$prefix/bin/rowhouse" "$prefix/bin/rowhouse-lab" "$share/launch/mpirun.sh" "$share/launch/cluster.sh" \
  "$share/configs/quickstart.yaml" "$share/configs/mpi.flags" "$share/configs/compression/plain.yaml" \
  "$doc/README.md" "$doc/docs/storage.md" "$doc/docs/from_dlrm.md" "$doc/copyright" "$doc/docs/third_party.md" \
  "$doc/third_party/librocksdb-dev" "$doc/third_party/nlohmann-json3-dev" \
  "$prefix/share/bash-completion/completions/rowhouse"; do
  [[ -s "$file" ]] || fail "there is no $file"
done
readelf -S "$prefix/bin/rowhouse" >"$work/sections"
! grep -q '\.debug_info' "$work/sections" || fail "the binary is not stripped"

# Man pages have what --help=all has; they need help2man (launch/setup.sh installs it).
if command -v help2man >/dev/null; then
  man="$prefix/share/man/man1"
  for page in rowhouse rowhouse-train rowhouse-ps rowhouse-bench rowhouse-ckpt rowhouse-compare rowhouse-plan; do
    [[ -s "$man/$page.1" ]] || fail "there is no man page $page.1"
  done
  grep -q 'cache_ways' "$man/rowhouse-train.1" || fail "rowhouse-train.1 has no --cache_ways"
  grep -q '^rowhouse-train .*the verb train' "$man/rowhouse-train.1" || fail "rowhouse-train.1 has no name"
fi

# Completion in bash: what pressing Tab would offer behind these words.
complete_words() {
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rowhouse; echo "${COMPREPLY[*]}"' \
    bash "$prefix/share/bash-completion/completions/rowhouse" "$@"
}
expect_completion() {
  local want="$1" got
  shift
  got="$(complete_words "$@")"
  [[ "$got" == "$want" ]] || fail "completion of \"$*\" is \"$got\", not \"$want\""
}
expect_completion "train" rowhouse tr
expect_completion "--cache_ways=" rowhouse train --cache_way
expect_completion "--overwrite" rowhouse train --overw
expect_completion "wal" rowhouse train --durability = w
expect_completion "none wal fsync" rowhouse train --durability =
expect_completion "--listen= --listen_fds=" rowhouse ps --listen

# A rowhouse elsewhere on the PATH would hide that the scripts do not find their own.
cd "$work"
clean=(env -i HOME="$work" TMPDIR="$work" PATH=/usr/bin:/bin)
"${clean[@]}" "$prefix/bin/rowhouse-mpirun" -n 2 rowhouse train --config="$share/configs/quickstart.yaml" \
  --ps=1 --data_size=4096 --synthetic_test_samples=512 --model_dir=model >out 2>&1 ||
  { cat out; fail "training with rowhouse-mpirun failed"; }
tail -n 1 out | grep -q '^test AUC 0\.' || { cat out; fail "no outcome from rowhouse-mpirun"; }
[[ -s model/report.json ]] || fail "no report in model"

echo "localhost slots=3" >hosts
"${clean[@]}" "$prefix/bin/rowhouse-cluster" hosts "$share/configs/quickstart.yaml" \
  --flagfile="$share/configs/mpi.flags" --data_size=4096 --synthetic_test_samples=512 \
  --model_dir=clustered >out 2>&1 || { cat out; fail "training with rowhouse-cluster failed"; }
tail -n 1 out | grep -q '^test AUC 0\.' || { cat out; fail "no outcome from rowhouse-cluster"; }

"${clean[@]}" "$share/launch/experiments/compression.sh" --quick --out "$work/compression" >out 2>&1 ||
  { cat out; fail "compression.sh failed"; }
[[ -s compression/compression.csv ]] || fail "compression.sh made no table"
echo "installed: binary, scripts, configs and docs work below a prefix"
