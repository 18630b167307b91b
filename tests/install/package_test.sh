#!/usr/bin/env bash
# The Debian package on a system that has it and what it depends on, and nothing else: no compiler,
# no headers. Trains configs/quickstart.yaml there under mpirun, as a user who is not root.
#   package_test.sh BUILD_DIR [local | debootstrap]
#     local        (the default) a root of this system's own packages: the essential ones and those
#                  that the package needs, directly or not, set up by dpkg. No network.
#     debootstrap  Debian's own minimal system, fetched from the mirror of /etc/apt/sources.list*;
#                  apt installs the package. Some minutes.
# Exit code 77: it cannot be tried here, with the reason.
set -euo pipefail
build="$1" kind="${2:-local}"
fail() { echo "package: $1" >&2; exit "${2:-1}"; }
skip() { fail "skipped: $1" 77; }
((EUID == 0)) || skip "a root of its own takes root"
for tool in cpack dpkg-deb dpkg-shlibdeps chroot unshare; do
  command -v "$tool" >/dev/null || skip "there is no $tool"
done

work="$(mktemp -d)"
root="$work/root"
trap 'rm -rf "$work"' EXIT  # Mounts are in namespaces that have ended.
mkdir "$root"
# Mounts for chroot's /proc, /dev and /tmp end with the command.
inside() {
  unshare --mount --pid --fork --kill-child bash -c '
    root="$1"; shift
    mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" &&
      mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" || exit 126
    exec chroot "$root" env -i HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' - "$root" "$@"
}
unshare --mount --pid --fork true 2>"$work/why" || skip "no namespaces: $(cat "$work/why")"

# ---- The package -------------------------------------------------------------------------------

cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/cpack" >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "cpack failed"; }
package="$(echo "$work"/cpack/rowhouse_*.deb)"
[[ -s "$package" ]] || fail "cpack made no rowhouse_*.deb"
depends=", $(dpkg-deb --field "$package" Depends),"
for library in libc6 libzmq5 libopenmpi3 libdnnl2 libyaml-cpp0.7 openmpi-bin; do
  [[ "$depends" == *", $library "* || "$depends" == *", $library,"* ]] ||
    fail "the package does not depend on $library: $depends"
done
[[ "$(dpkg-deb --field "$package" Package)" == rowhouse ]] || fail "the package has another name"

# ---- A root -------------------------------------------------------------------------------------

# Names of packages that NAME... need here, themselves among them, by dpkg's own records.
closure() {
  local -A seen=()
  local queue=("$@") name one alternatives found
  while ((${#queue[@]} > 0)); do
    name="${queue[0]}" queue=("${queue[@]:1}")
    [[ -z "${seen[$name]-}" ]] || continue
    seen[$name]=1
    # The first of alternatives that is installed; a virtual package's provider.
    for alternatives in ${needs[$name]//,/ }; do
      found=""
      for one in ${alternatives//|/ }; do
        one="${one%%:*}" found="${needs[$one]+$one}"
        found="${found:-${providers[$one]-}}"
        [[ -z "$found" ]] || break
      done
      [[ -n "$found" ]] || fail "nothing here is $alternatives, which $name needs"
      queue+=("$found")
    done
  done
  printf '%s\n' "${!seen[@]}"
}

make_local_root() {
  # Of each installed package what it needs, and who provides a virtual one.
  local -A needs=() providers=()
  local package_name needed_there provided one
  while IFS=$'\t' read -r package_name needed_there provided; do
    needs[$package_name]="$needed_there"
    for one in ${provided//,/ }; do providers[$one]="$package_name"; done
  done < <(dpkg-query -W -f '${db:Status-Status}|${Package}\t,${Pre-Depends},${Depends}\t${Provides}\n' |
    sed -n 's/^installed|//p' | sed 's/([^)]*)//g; s/\[[^]]*\]//g; s/ //g')
  local essential needed
  mapfile -t essential < <(dpkg-query -W -f '${Essential} ${db:Status-Status} ${Package}\n' | sed -n 's/^yes installed //p')
  mapfile -t needed < <(tr ',' '\n' <<<"$depends" | sed 's/([^)]*)//g; s/ //g; s/|.*//; /^$/d')
  mapfile -t packages < <(closure "${essential[@]}" "${needed[@]}" | sort)
  for one in g++ gcc cmake ninja-build make libopenmpi-dev librocksdb-dev; do
    [[ " ${packages[*]} " != *" $one "* ]] || fail "the package would bring $one along"
  done

  # Their files as they are here, and dpkg's records of them alone, as unpacked and not set up.
  local info=/var/lib/dpkg/info name
  mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers,alternatives} "$root"/{proc,dev,sys,tmp,run,root,etc,usr/bin,usr/sbin,usr/lib,usr/lib64}
  chmod 1777 "$root/tmp"
  for one in bin sbin lib lib64; do
    if [[ -L "/$one" ]]; then ln -s "usr/$one" "$root/$one"; else mkdir -p "$root/$one"; fi
  done
  for name in "${packages[@]}"; do
    for one in "$info/$name".* "$info/$name":*; do
      [[ ! -e "$one" ]] || cp -a "$one" "$root$info/"
    done
  done
  dpkg-query -L "${packages[@]}" | sed -n 's|^/||p' | sort -u >"$work/files"
  # What somebody deleted to save room (documentation) is missing, and not needed.
  (cd / && while IFS= read -r one; do [[ ! -e "$one" && ! -L "$one" ]] || printf '%s\0' "$one"; done <"$work/files") |
    tar -C / --create --null --no-recursion --files-from=- --file=- 2>/dev/null |
    tar -C "$root" --extract --file=- --keep-directory-symlink
  dpkg-query --status "${packages[@]}" | sed 's/^Status: .*/Status: install ok unpacked/' >"$root/var/lib/dpkg/status"
  echo amd64 >"$root/var/lib/dpkg/arch"
  : >"$root/var/lib/dpkg/available"
  cp /var/lib/dpkg/info/format "$root/var/lib/dpkg/info/format" 2>/dev/null || true
  for one in passwd group; do cp "$root/usr/share/base-passwd/$one.master" "$root/etc/$one"; done
  # What the maintainers' scripts make: links of alternatives, accounts, the loader's cache.
  inside ldconfig || fail "chroot does not work here" 77
  inside dpkg --configure --pending >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log"; fail "dpkg could not set up a root of this system's packages"; }
}

make_debootstrap_root() {
  command -v debootstrap >/dev/null || skip "there is no debootstrap; apt-get install debootstrap"
  local mirror
  mirror="$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb .*\(http[^ ]*debian\) .*/\1/p' | grep -v security | grep -m 1 /debian)" || true
  debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log"; skip "debootstrap could not fetch a system"; }
}

echo "package: making a root ($kind)"
"make_${kind}_root"
[[ ! -e "$root/usr/bin/gcc" && ! -e "$root/usr/bin/c++" && ! -e "$root/usr/bin/cmake" ]] ||
  fail "there is a compiler in the root"
echo "package: installing into it"
cp "$package" "$root/tmp/rowhouse.deb"
if [[ "$kind" == local ]]; then
  inside dpkg --install /tmp/rowhouse.deb >"$work/log" 2>&1 || { cat "$work/log"; fail "dpkg refused the package"; }
else
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  inside apt-get install --yes --no-install-recommends /tmp/rowhouse.deb >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log"; fail "apt could not install the package"; }
fi

# ---- The quickstart's training ------------------------------------------------------------------

echo "user:x:1000:1000::/home/user:/bin/bash" >>"$root/etc/passwd"
mkdir -p "$root/home/user" && chown 1000:1000 "$root/home/user"
size=()
[[ "$kind" != local ]] || size=(--data_size=65536 --synthetic_test_samples=4096)  # a small part of it
started=$SECONDS
inside setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/home/user bash -c "cd &&
  rowhouse --version && rowhouse-mpirun -n 4 rowhouse train \
  --config=/usr/share/rowhouse/configs/quickstart.yaml --ps=2 --model_dir=quickstart ${size[*]-}" \
  >"$work/out" 2>&1 || { cat "$work/out"; fail "training failed"; }
grep -q '^test AUC 0\.' "$work/out" || { cat "$work/out"; fail "training told no outcome"; }
inside dpkg --remove rowhouse >"$work/log" 2>&1 || { cat "$work/log"; fail "dpkg could not remove it"; }
[[ ! -e "$root/usr/share/rowhouse" ]] || fail "the package left /usr/share/rowhouse behind"
echo "package: trained in $((SECONDS - started)) s: $(tail -n 1 "$work/out")"
