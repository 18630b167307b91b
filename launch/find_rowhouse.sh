# For the scripts beside it, which source it: sets
#   here   this tree, or where `cmake --install` put it: PREFIX/share/rowhouse
#   runs   where runs are kept unless told: runs of this tree, or of the directory one is in
# and puts rowhouse on the PATH, unless it is there: the one this tree built, or PREFIX/bin's.
here="$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.." && pwd)"
if [[ -f "$here/CMakeLists.txt" ]]; then
  bin="$here/build/release/bin"
  runs="$here/runs"
else
  bin="$(realpath "$here/../../bin")"
  runs="$PWD/runs"
fi
command -v rowhouse >/dev/null || export PATH="$bin:$PATH"
