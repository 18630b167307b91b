#!/usr/bin/env bash
# readme_test.sh PAGE...: runs the commands of pages as they stand there, one after the other: every
# indented line that starts a script or the binary. What a reader would supply is supplied: a data
# file, directories, hosts, a free port, and what earlier commands have left.
# ./launch/test.sh is left out: it is what runs this test.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
work="$(mktemp -d)"
server=
finish() {
  [[ -z "$server" ]] || kill "$server" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap finish EXIT

# Criteo's format: label, 13 integers, 26 tokens; some fields empty.
awk 'BEGIN { srand(7); for (i = 0; i < 2000; ++i) {
  line = int(rand() * 2)
  for (j = 0; j < 13; ++j) line = line "\t" (rand() < .1 ? "" : int(rand() * 100))
  for (j = 0; j < 26; ++j) line = line "\t" (rand() < .1 ? "" : sprintf("%08x", int(rand() * 300)))
  print line } }' >"$work/train.txt"

port=$((20000 + RANDOM % 12000))  # below those that the system gives to connections

run=0
mapfile -t commands < <(cd "$root" && sed -n 's/^    \(\.\/launch\/.*\|build\/release\/.*\)$/\1/p' "$@")
((${#commands[@]} >= 6)) || { echo "these have lost their commands: $*: ${commands[*]}"; exit 1; }
for command in "${commands[@]}"; do
  [[ "$command" == ./launch/test.sh* ]] && continue
  # Of 10^8 tokens: gigabytes and minutes. The tests of data commands convert smaller files.
  [[ "$command" == *" data convert users.csv "* ]] && continue
  # `bench rows` runs it, too.
  [[ "$command" == *" bench bags "* ]] && continue
  # Ten minutes. Unit tests (tests/launch/lab) look at its parts.
  [[ "$command" == *" bench train "* ]] && continue
  run=$((run + 1))
  directory="$work/$run"
  mkdir "$directory"
  echo "localhost slots=4" >"$directory/hosts"
  line="${command//\/fast\/rows/$directory/rows}"
  line="${line//--data=train.txt/--data=$work/train.txt}"
  line="${line//--data_size=8400000/--data_size=2000}"
  line="${line//tcp:\/\/host:7001/tcp://localhost:$port}"
  line="${line//:7001/:$port}"
  line="${line//.\/launch\//$root/launch/}"
  line="${line//build\/release\//$root/build/release/}"
  line="${line//configs\//$root/configs/}"
  line="${line//runs\/quickstart/$root/runs/quickstart}"
  line="${line// model\/report.json/ $work/2/model/report.json}"
  line="$(sed -E "s#=([a-z_]+\.json)#=$work/\1#g" <<<"$line")"  # one command writes it, a later one reads it
  echo "readme: $command"
  if [[ "$command" == *" ps "* ]]; then
    (cd "$directory" && eval "exec $line") >"$work/server.out" 2>&1 &
    server=$!
    continue
  fi
  code=0
  (cd "$directory" && eval "$line") >"$directory/out" 2>&1 || code=$?
  # Times of a busy machine may contradict each other. Then --verify says so, which is its task.
  [[ "$command" != *" --verify="* || $code -ne 1 ]] || ! grep -q "/regime.json: " "$directory/out" || continue
  ((code == 0)) ||
    { cat "$work"/server.out "$directory/out" 2>/dev/null || true; echo "readme: failed: $command"; exit 1; }
  [[ "$command" == *" plan "* || "$command" == *" compare "* || "$command" == *" bench "* ||
    "$command" == *" data "* ]] ||
    tail -n 1 "$directory/out" | grep -qE '^test AUC 0\.[0-9]{4} logloss [0-9.]+  [0-9]+ samples/s' ||
    { cat "$directory/out"; echo "readme: no outcome at the end of: $command"; exit 1; }
  [[ "$command" == *quickstart.sh* ]] || continue
  # configs/quickstart.yaml promises that rows go through RocksDB and back.
  read_back="$(grep -o '"store_rows_read": [0-9]*' "$root/runs/quickstart/report.json" | awk '{ rows += $2 } END { print rows + 0 }')"
  ((read_back > 10000)) || { echo "readme: the quickstart read $read_back rows from RocksDB"; exit 1; }
done
echo "readme: $run commands of $* ran"
