#!/usr/bin/env bash
# Runs docs/strategies.md: every indented line, in the page's order, in one directory. The machine is not
# measured, which takes minutes: the cost model's typical one stands in.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
rowhouse="${1:-$root/build/release/bin/rowhouse}"
page="$root/docs/strategies.md"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1"; exit 1; }
cd "$work"
mkdir bin
ln -s "$(realpath "$rowhouse")" bin/rowhouse
ln -s "$root/launch" "$root/configs" .
export PATH="$work/bin:$PATH" XDG_CACHE_HOME="$work/cache"

awk '/^```/ { fenced = !fenced } !fenced && sub(/^    /, "")' "$page" >commands.txt
(($(wc -l <commands.txt) >= 9)) || fail "the page has lost its commands"
n=0 start=$SECONDS
while IFS= read -r line; do
  [[ "$line" == *"bench calibrate"* ]] && continue
  # The page's run is of 100 steps; a few show that it works.
  [[ "$line" == *" train "* && "$line" != *stop_after_steps* ]] && line+=" --stop_after_steps=10"
  n=$((n + 1))
  echo "strategies: $line"
  bash -euo pipefail -c "$line" </dev/null >"out.$n.txt" 2>&1 || { cat "out.$n.txt"; fail "$line"; }
done <commands.txt

for file in ids.trace plan.json lab.html compared.html; do [ -s "$file" ] || fail "no $file"; done
# Every plan that can be is in the table, the planner's own is no slower than any other, and says why.
grep -l 'What would help most' out.*.txt >/dev/null || fail "nothing says what would help"
table="$(grep -l '^auto ' out.*.txt | head -1)"
[ -n "$table" ] || fail "no plan of the planner's own"
awk '/^strategy /{ on = 1; next } on && NF { print $1; exit }' "$table" | grep -qx auto ||
  { cat "$table"; fail "another plan is predicted to be faster than the planner's"; }
# Plans decide cost, never a bit.
grep -q 'redicted' planned/report.json || fail "the report has no prediction"
echo "docs/strategies.md: $n commands ran in $((SECONDS - start)) s"
