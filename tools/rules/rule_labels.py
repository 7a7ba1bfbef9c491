"""The labels of ordering pairs, such as [EC1] in a comment, are unique in the tree, and each has both sides.

* A label is two or three capital letters and a number. The letters stand for one protocol: the table in ARCHITECTURE.md
  whose first heading is "label" has a row for them, with the files and folders where they may stand; each row is in use.
* A label that stands in the sources of the library stands in two places at least: the two sides. Lines next to each other
  are one place. One step that is both sides, say an acq_rel, has the label once: `[LA1] acq_rel: ...`.
* A label that a page or check/survivors.txt names is one that the sources have.
"""

import re
from pathlib import Path

import tree

LABEL = re.compile(r"\[([A-Z]{1,3})(\d+)\](\s*(?:acq_rel|both sides))?")
MAP = "ARCHITECTURE.md"
NEAR = 3  # lines: a comment and the step below it


def protocols(root):
    """Prefix -> the paths where its labels may stand, from the table."""
    source = tree.text(root, MAP) if (root / MAP).exists() else ""
    found = re.search(r"^\| *label *\|.*\n\|[-| ]*\|\n((?:\|.*\n)*)", source, re.MULTILINE)
    for row in found[1].splitlines() if found else []:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        yield cells[0].strip("`"), re.findall(r"`([^`]+)`", cells[-1])


def lies_in(path, place):
    return str(path).startswith(place) if place.endswith("/") else str(path) == place


def check(root):
    places = {}
    for prefix, allowed in protocols(root):
        if not re.fullmatch(r"[A-Z]{2,3}", prefix):
            yield f"{MAP}:1: '{prefix}' is no prefix of labels: two or three capital letters"
        if prefix in places:
            yield f"{MAP}:1: the labels {prefix} stand for two protocols"
        places[prefix] = allowed
    sides, first, used = {}, {}, set()  # label -> how many; label -> where; prefixes
    for path in tree.files(root, *tree.CPP, under="src/ekiden"):
        source = tree.comments(tree.text(root, path))
        last = {}
        for match in LABEL.finditer(source):
            label, line = match[1] + match[2], tree.line_of(source, match.start())
            used.add(match[1])
            first.setdefault(label, f"{path}:{line}")
            if match[1] not in places:
                yield f"{path}:{line}: [{label}]: the table of labels in {MAP} has no row for {match[1]}"
            elif not any(lies_in(path, place) for place in places[match[1]]):
                yield f"{path}:{line}: [{label}]: {match[1]} belongs to {', '.join(places[match[1]])}"
            if label not in last or line - last[label] > NEAR or match[3]:
                sides[label] = sides.get(label, 0) + (2 if match[3] else 1)
            last[label] = line
    for label, count in sides.items():
        if count < 2:
            yield f"{first[label]}: [{label}] has one side only"
    for prefix in places:
        if prefix not in used:
            yield f"{MAP}:1: no source has a label {prefix}"
    yield from mentions(root, places, sides)


def mentions(root, places, known):
    """What pages name, in brackets or as a word that begins like a label of the tree."""
    pages = [*tree.files(root, ".md"), *(p for p in [Path("check/survivors.txt")] if (root / p).exists())]
    bare = re.compile(rf"\b(?:{'|'.join(places)})\d+\b") if places else re.compile(r"(?!)")
    for path in pages:
        source = tree.text(root, path)
        named = {(m.start(), m[1] + m[2]) for m in LABEL.finditer(source)}
        named |= {(m.start(), m[0]) for m in bare.finditer(source)}
        for start, label in sorted(named):
            if label not in known:
                yield f"{path}:{tree.line_of(source, start)}: no source has the label {label}"


GOOD = {
    MAP: "| label | protocol | where |\n|---|---|---|\n| EC | the sleep | `src/ekiden/pool/` |\n"
    "| LA | the latch | `src/ekiden/sync/latch.hpp` |\n\nas [EC1]\n",
    "src/ekiden/pool/a.hpp": "// [EC1] release\nint a;\n\n\n\n\n// [EC1] acquire\n",
    "src/ekiden/pool/a.md": "| EC1 | post | sleep |\n",
    "src/ekiden/sync/latch.hpp": "// [LA1] acq_rel: each is both sides\n",
    "check/survivors.txt": "src/ekiden/pool/a.hpp | a; | release -> relaxed | by [EC1]\n",
}
BAD = [
    {"src/ekiden/sync/a.hpp": "// [EC1] another protocol\n"},
    {"src/ekiden/pool/a.cpp": "// [EC2] release\n"},
    {"src/ekiden/pool/a.cpp": "// [EC2] release\nint a; // [EC2]\n"},
    {"src/ekiden/pool/a.cpp": "// [XY1] release\n\n\n\n\n// [XY1] acquire\n"},
    {"src/ekiden/pool/a.cpp": "// [S1] release\n\n\n\n\n// [S1] acquire\n"},
    {"src/ekiden/pool/a.md": "as [EC3]\n"},
    {"src/ekiden/pool/a.md": "| EC3 | post | sleep |\n"},
    {"check/survivors.txt": "src/ekiden/pool/a.hpp | a; | release -> relaxed | by [EC4]\n"},
    {MAP: GOOD[MAP].replace("| LA |", "| EC |")},
    {"src/ekiden/sync/latch.hpp": "// nothing\n"},
]
