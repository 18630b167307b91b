#!/usr/bin/env bash
# Runs docs/your_data.md: every indented line, in the page's order, in one directory. What the page
# downloads is made up here, of the same form. The page's part of my.yaml is what infer writes.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
rowhouse="${1:-$root/build/release/bin/rowhouse}"
page="$root/docs/your_data.md"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1"; exit 1; }
cd "$work"
mkdir bin
ln -s "$rowhouse" bin/rowhouse
export PATH="$work/bin:$PATH"

awk '/^```/ { fenced = !fenced } !fenced && sub(/^    /, "")' "$page" | grep -v '^curl ' >commands.sh
(($(grep -c '^rowhouse ' commands.sh) >= 12)) || fail "the page has lost its commands"

# MovieLens' 100K, smaller: ids of users and items, ratings 1 to 5, times, between tabs.
mkdir ml-100k
awk 'BEGIN { srand(3); for (i = 0; i < 6000; ++i) {
  u = 1 + int(rand() * 200); m = 1 + int(rand() * 300)
  if (seen[u, m]++) continue
  r = 1 + (u % 3) + (m % 3) + (rand() < .3 ? -1 : 0); if (r < 1) r = 1; if (r > 5) r = 5
  print u "\t" m "\t" r "\t" 880000000 + i * 60 } }' >ml-100k/u.data
awk 'BEGIN { srand(4); split("student writer doctor", jobs, " "); for (u = 1; u <= 200; ++u)
  print u "|" 18 + int(rand() * 50) "|" (rand() < .5 ? "M" : "F") "|" jobs[1 + u % 3] "|" 10000 + u }' >ml-100k/u.user
awk 'BEGIN { srand(5); for (m = 1; m <= 300; ++m) {
  line = m "|Film " m " (1995)|01-Jan-1995||http://us.imdb.com/M/" m
  for (g = 0; g < 19; ++g) line = line "|" (rand() < .15)
  print line } }' >ml-100k/u.item

# One command: a line, or all lines up to the END of what it reads.
run() {
  echo "your data: ${1%%$'\n'*}"
  n=$((n + 1))
  bash -euo pipefail -c "$1" >"out.$n.txt" 2>&1 || { cat "out.$n.txt"; fail "$1"; }
  [[ "$1" != "rowhouse train"*test_fraction* ]] ||
    grep -qE '^test AUC 0\.[0-9]{4} logloss [0-9.]+  [0-9]+ samples/s' "out.$n.txt" ||
    { cat "out.$n.txt"; fail "no outcome of: $1"; }
}
n=0 start=$SECONDS command=
while IFS= read -r line; do
  command+="$line"$'\n'
  [[ "$command" != *"<<'END'"* || "$line" == END ]] || continue
  run "$command"
  command=
done <commands.sh

# The part of my.yaml that the page shows.
awk '/^```yaml$/ { on = 1; next } /^```$/ { on = 0 } on' "$page" >shown.yaml
[ -s shown.yaml ] || fail "the page shows nothing of my.yaml"
while IFS= read -r line; do
  grep -qxF -- "$line" my.yaml || { cat my.yaml; fail "infer no longer writes: $line"; }
done <shown.yaml

(($(wc -l <scores.tsv) == 5000)) || fail "scores.tsv has $(wc -l <scores.tsv) lines, not 5000"
awk '{ if ($1 < 0 || $1 > 1) exit 1 }' scores.tsv || fail "a score outside [0, 1]"
grep -hoE 'AUC 0\.[0-9]+' out.*.txt | awk '{ if ($2 < 0.6) bad = 1 } END { exit bad }' ||
  { grep -h AUC out.*.txt; fail "a model that has learned nothing"; }
echo "docs/your_data.md: $n commands ran in $((SECONDS - start)) s"
