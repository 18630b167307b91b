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
for file in "$prefix/bin/rowhouse" "$share/launch/mpirun.sh" "$share/launch/cluster.sh" \
  "$share/configs/quickstart.yaml" "$share/configs/mpi.flags" "$share/configs/compression/plain.yaml" \
  "$doc/README.md" "$doc/docs/storage.md" "$doc/docs/from_dlrm.md" "$doc/copyright" "$doc/docs/third_party.md" \
  "$doc/third_party/librocksdb-dev" "$doc/third_party/nlohmann-json3-dev"; do
  [[ -s "$file" ]] || fail "there is no $file"
done
readelf -S "$prefix/bin/rowhouse" >"$work/sections"
! grep -q '\.debug_info' "$work/sections" || fail "the binary is not stripped"

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
