#!/usr/bin/env bash
# launch/setup.sh where something is missing and the user is neither root nor has sudo.
set -euo pipefail
here="$(cd "$(dirname "$0")/../.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# A system on which nothing is installed, with no sudo on the PATH.
printf '#!/bin/sh\necho not-installed\n' >"$work/dpkg-query"
chmod +x "$work/dpkg-query"
for tool in bash env cat; do ln -s "$(command -v "$tool")" "$work/$tool"; done
as_user=()
if ((EUID == 0)); then as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
code=0
"${as_user[@]}" env -i PATH="$work" bash "$here/launch/setup.sh" >"$work/out" 2>&1 || code=$?
expect() { grep -qF -e "$1" "$work/out" || { cat "$work/out"; echo "setup: does not say: $1"; exit 1; }; }
((code == 2)) || { cat "$work/out"; echo "setup: exit code $code, not 2"; exit 1; }
expect "apt-get update && apt-get install --yes --no-install-recommends g++ cmake"
expect "podman build"
echo "setup: says what to do without root"
