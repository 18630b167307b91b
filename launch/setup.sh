#!/usr/bin/env bash
# Installs the Debian 12 packages that are missing for building and testing. Needs root or sudo only if
# one is missing.
#   launch/setup.sh             for building, running and most tests
#   launch/setup.sh --browser   also the browser for the test of pages (290 MB)
#   launch/setup.sh --ci        also the tools of .ci/run and Python for tests of docs: clang, PyTorch (1 GB)
set -euo pipefail

# The one list of packages.
PACKAGES=(
  g++ cmake ninja-build ccache pkg-config    # to build
  libopenmpi-dev openmpi-bin                 # workers' dense exchange
  libzmq3-dev cppzmq-dev libcereal-dev       # messages
  librocksdb-dev                             # rows at rest
  libdnnl-dev ocl-icd-opencl-dev             # dense layers; the second only to satisfy the first
  libgflags-dev libgoogle-glog-dev libyaml-cpp-dev libfmt-dev nlohmann-json3-dev libxxhash-dev
  zlib1g-dev libzstd-dev                     # compressed text files
  libjs-dygraphs libjs-chart.js              # pages of runs; taken in when building
  libgtest-dev libgmock-dev librapidcheck-dev
  help2man                                   # man pages, made when installing
  dpkg-dev file                              # cpack makes a package, and looks up what it needs
  iproute2                                   # hosts in tests are network namespaces
)
BROWSER_PACKAGES=(chromium-headless-shell python3-websocket)
CI_PACKAGES=(clang clang-format clang-tidy-19 libclang-rt-dev python3-numpy python3-sklearn python3-torch)

for argument in "$@"; do
  case "$argument" in
    --browser) PACKAGES+=("${BROWSER_PACKAGES[@]}") ;;
    --ci) PACKAGES+=("${CI_PACKAGES[@]}") ;;
    *)
      echo "setup.sh: the options are --browser and --ci, not $argument" >&2
      exit 2
      ;;
  esac
done

is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this is no Debian; install by hand what these packages hold: ${PACKAGES[*]}" >&2
  exit 2
fi

missing=()
for package in "${PACKAGES[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "setup: all ${#PACKAGES[@]} packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    cat >&2 <<END
setup.sh: ${#missing[@]} packages are missing, and installing them takes root or sudo. Either somebody
with root runs

  apt-get update && apt-get install --yes --no-install-recommends ${missing[*]}

and you start again; or you build and run in a container, which takes no root:

  podman build -t rowhouse . && podman run --rm -it rowhouse

END
    exit 2
  fi
  as_root=(sudo)
fi
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends "${missing[@]}"
}

echo "setup: installing ${missing[*]}"
# Package lists may be old or not there at all: fetch them only if it does not work without.
if ! install; then
  echo "setup: fetching package lists, then once more"
  "${as_root[@]}" apt-get update
  install
fi
echo "setup: installed ${#missing[@]} packages"
