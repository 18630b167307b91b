#!/usr/bin/env python3
"""Checks that the files of a folder can be compiled together (rowhouse_units in CMakeLists.txt).

A private name, one in an anonymous namespace, stands in one file of its room: its folder, and those of
families in it. And no private
function has the name of a function in a header that the folder includes: a call in another file
would take whichever fits better, without a word of the compiler. Bounds are kMax... and kMin....
  .ci/names.py [ROOT]
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
# May stand in several files: aliases, and the function that GoogleTest finds by its argument's type.
SHARED = re.compile(r"using |void PrintTo\(")

FAMILIES = re.search(r"set\(FAMILIES (\S+)\)", (ROOT / "CMakeLists.txt").read_text())[1]

FUNCTION = re.compile(r"(?:\[\[\w+\]\] )?(?:template <.*> )?(?:inline |static |constexpr )*"
                      r"[\w:]+(?:<.*>)?(?: const)?[ &*]+(\w+)\(")
TYPE = re.compile(r"(?:class|struct|enum class|enum) (?:\[\[\w+\]\] )?(\w+)")
CONSTANT = re.compile(r"(?:inline )?const(?:expr|init)? .*?\b(k[A-Z]\w*)")


def statements(text):
    """Lines at no indentation of a file, with whether they are in an anonymous namespace."""
    is_private = False
    for line in text.splitlines():
        if line == "namespace {":
            is_private = True
        elif line == "}  // namespace":
            is_private = False
        elif line and line[0] not in " }/#" and not SHARED.match(line):
            yield is_private, line


def main():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "*.cc", "*.h"], check=True,
                           capture_output=True, text=True).stdout.split()
    texts = {name: (ROOT / name).read_text() for name in names if (ROOT / name).exists()}
    includes = {name: [i for i in re.findall(r'#include "([^"]+)"', text) if i in texts]
                for name, text in texts.items()}

    declared = {}  # of a header: functions at namespace scope
    for name, text in texts.items():
        if name.endswith(".h"):
            declared[name] = {m[1] for _, line in statements(text) if (m := FUNCTION.match(line))}

    rooms = collections.defaultdict(list)
    for name in texts:
        if name.endswith(".cc") and not name.startswith(("tests/families/", "tests/fuzz/")):
            rooms[re.sub(f"/({FAMILIES})$", "", name.rpartition("/")[0])].append(name)

    faults = [f"{name}: {bound}: bounds are named kMax... and kMin..."
              for name, text in texts.items() for bound in re.findall(r"\bk(?:Most|Least)(?![a-z])\w*", text)]
    for files in rooms.values():
        seen, todo = set(), list(files)
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += includes[name]
        public = {f: h for h in sorted(seen & declared.keys()) for f in declared[h]}
        owner = {}
        for file in sorted(files):
            for is_private, line in statements(texts[file]):
                function = FUNCTION.match(line)
                found = function or TYPE.match(line) or CONSTANT.match(line)
                if not is_private or not found:
                    continue
                name = found[1]
                if owner.setdefault(name, file) != file:
                    faults.append(f"{file}: {name} is also in {owner[name]}")
                if function and name in public:
                    faults.append(f"{file}: {name} is also in {public[name]}")
    print("\n".join(sorted(set(faults))) or f"names: private names of {len(rooms)} rooms are unique")
    return 1 if faults else 0


sys.exit(main())
