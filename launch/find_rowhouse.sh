# For the scripts beside it, which source it: sets
#   here   this tree or, installed, PREFIX/share/rowhouse
#   runs   the default directory of runs: runs of this tree, or of the current directory
# and, if rowhouse is not on the PATH, adds the directory of the one that this tree built, or PREFIX/bin.
here="$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.." && pwd)"
if [[ -f "$here/CMakeLists.txt" ]]; then
  bin="$here/build/release/bin"
  runs="$here/runs"
else
  bin="$(realpath "$here/../../bin")"
  runs="$PWD/runs"
fi
command -v rowhouse >/dev/null || export PATH="$bin:$PATH"
