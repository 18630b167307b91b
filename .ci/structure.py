#!/usr/bin/env python3
"""Counts files, lines, rooms, knots, settings and flags; lists classes of more than 25 methods, functions of more
than 60 lines and .cc files without a header. Numbers to watch, not limits.

    .ci/structure.py [FOLDER...]     default: common sharding ps worker launch

Reads sources as clang-format writes them (.clang-format); a heuristic, not a compiler. Methods are all
member functions, constructors and operators included, but not = default and = delete. Members of
families (one file a member), entries of settings, commands of data
and bench, modes of plan and main need no header. Tests are not looked at.
"""
import os
import re
import subprocess
import sys

MAX_METHODS, MAX_LINES = 25, 60
FOLDERS = ["common", "sharding", "ps", "worker", "launch"]
NO_HEADER = re.compile(
    r"/(kinds|optimizers|initialisers|strategies|engines|policies|sources|interactions|lr_policies|bench|bench_rows|bench_tier|entries|calibrate/kernels)/[^/]+\.cc$"
    r"|^launch/(data|lab)/[^/]+\.cc$|^launch/main\.cc$|^launch/model/ckpt_\w+\.cc$"
    r"|^launch/accountability/accountability\.cc$|^launch/regimes/regime\.cc$"
    r"|^launch/plan/(strategies|trace_mode)\.cc$|_command\.cc$")
CONTROL = re.compile(r"^(if|for|while|switch|do|else|try|catch|case|default|return)\b")
CLASS = re.compile(r"^(?:template\s*<.*>\s*)?(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(?:[A-Z_]+(?:\([^)]*\))?\s+)?([\w:]+)")


def blank_comments_and_strings(text):
    """Same length and lines, so that positions stay right."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
    text = pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    lines, continued = [], False
    for line in text.split("\n"):  # macros
        is_macro = continued or line.lstrip().startswith("#")
        continued = is_macro and line.endswith("\\")
        lines.append(" " * len(line) if is_macro else line)
    return "\n".join(lines)


def kind_of(head, parent):
    head = re.sub(r"\b(public|private|protected)\s*:", "", head).strip()
    if re.match(r"^(inline\s+)?namespace\b|^extern\b", head):
        return "namespace", head
    found = CLASS.match(head)
    if found and "(" not in head.split("{")[0].split(":")[0].replace(found.group(1), ""):
        return "class", found.group(1)
    if re.match(r"^(enum|union)\b", head) or parent == "function":
        return "block", head
    if CONTROL.match(head) or "(" not in head:
        return "block", head
    if re.search(r"[^=!<>]=[^=]", head.split("(")[0]) and "operator" not in head:
        return "block", head
    name = re.search(r"(~?[\w:]+|operator\s*\S+?)\s*\(", head)
    return ("function", name.group(1)) if name else ("block", head)


def scan(path):
    """Yields (kind, name, line, lines, methods) of each class and function."""
    text = blank_comments_and_strings(open(path, encoding="utf-8").read())
    stack, head_begin, parens, results = [], 0, 0, []
    for at, letter in enumerate(text):
        if letter == "(":
            parens += 1
        elif letter == ")":
            parens -= 1
        elif letter == "{":
            head = text[head_begin:at]
            parent = stack[-1][0] if stack else "namespace"
            kind, name = ("block", "") if parens > 0 else kind_of(head, parent)
            if kind == "function" and parent == "class":
                stack[-1][4] += 1
            begin = head_begin + len(head) - len(head.lstrip())
            stack.append([kind, name, begin, parens, 0])
            parens, head_begin = 0, at + 1
        elif letter == "}" and stack:
            kind, name, begin, parens, methods = stack.pop()
            if kind in ("class", "function"):
                line = text.count("\n", 0, begin) + 1
                results.append((kind, name, line, text.count("\n", begin, at) + 1, methods))
            head_begin = at + 1
        elif letter == ";" and parens == 0:
            statement = text[head_begin:at]
            if stack and stack[-1][0] == "class":
                declared = re.sub(r"\b(public|private|protected)\s*:", "", statement).strip()
                is_method = re.search(r"[\w>]\s*\(", declared) and not re.match(r"^(using|friend|static_assert)\b", declared)
                is_member = re.search(r"[^=!<>]=\s*(?!0\s*$|default|delete)", declared.split("(")[0])
                is_member = is_member or re.search(r"std::function<|GUARDED_BY", declared)
                if is_method and not is_member and not re.search(r"=\s*(default|delete)\s*$", declared):
                    stack[-1][4] += 1
            head_begin = at + 1
    return results


def room_of(path):
    return path.rpartition("/")[0]


def knots(rooms, arrows):
    """Groups of rooms that reach each other."""
    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for other in arrows.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen
    reach = {room: reached(room) for room in rooms}
    return {frozenset(o for o in rooms if o in reach[r] and r in reach[o]) for r in rooms if r in reach[r]}


def counts(files):
    text = {path: open(path, encoding="utf-8").read() for path in files}
    pages = subprocess.run(["git", "ls-files", *[f"launch/figures/pages/*.{e}" for e in ("js", "css", "html")]],
                           check=True, capture_output=True, text=True).stdout.split()
    rooms = {room_of(path) for path in files}
    arrows = {}
    for path in files:
        for header in re.findall(r'^#include "([^"]+)"', text[path], re.M):
            if header in text and room_of(header) != room_of(path):
                arrows.setdefault(room_of(path), set()).add(room_of(header))
    lines = sum(t.count("\n") for t in text.values())
    lines_of = {room: sum(text[p].count("\n") for p in files if room_of(p) == room) for room in rooms}
    largest = max(rooms - {"ps/shard"}, key=lines_of.get)
    of_pages = sum(open(p, encoding="utf-8").read().count("\n") for p in pages)
    settings = sum(t.count(".Add(") for p, t in text.items() if p.startswith("launch/settings/entries/"))
    flags = sum(t.count("AddVerbFlag(\n") for t in text.values())
    flags += len(re.findall(r"^    \{(?:\.name = )?k\w+Flag,", text.get("launch/command_line/verb_flags.cc", ""), re.M))
    for knot in knots(rooms, arrows):
        print("a knot of " + ", ".join(sorted(knot)))
    print(f"{len(files)} files, {lines} lines, {of_pages} of pages; {len(rooms)} rooms, {len(knots(rooms, arrows))} knots; "
          f"largest beside ps/shard: {largest}, {lines_of[largest]}; {settings} settings, {flags} flags of verbs")


def main():
    os.chdir(subprocess.run(["git", "rev-parse", "--show-toplevel"], check=True, capture_output=True, text=True,
                            cwd=os.path.dirname(os.path.abspath(__file__))).stdout.strip())
    folders = sys.argv[1:] or FOLDERS
    listed = subprocess.run(["git", "ls-files", *[f"{f.rstrip('/')}/*.{e}" for f in folders for e in ("h", "cc")]],
                            check=True, capture_output=True, text=True)
    files = listed.stdout.split()
    counts(files)
    classes, functions = [], []
    for path in files:
        for kind, name, line, lines, methods in scan(path):
            if kind == "class" and methods > MAX_METHODS:
                classes.append((methods, f"{path}:{line}: class {name}, {methods} methods"))
            if kind == "function" and lines > MAX_LINES:
                functions.append((lines, f"{path}:{line}: {name}, {lines} lines"))
    bare = [p for p in files if p.endswith(".cc") and not os.path.exists(p[:-3] + ".h") and not NO_HEADER.search(p)]
    for title, found in ((f"classes of more than {MAX_METHODS} methods", [t for _, t in sorted(classes, reverse=True)]),
                         (f"functions of more than {MAX_LINES} lines", [t for _, t in sorted(functions, reverse=True)]),
                         (".cc files without a header", bare)):
        print(f"{len(found)} {title}")
        for text in found:
            print(f"  {text}")


if __name__ == "__main__":
    main()
