"""docs/stability.md says of each part whether it is stable or experimental: its table has one row for each part with public
headers, also for the adapters, the checker and the parts with a library of their own. The names that a row excepts are words of the part's headers."""

import re

import tree

PAGE = "docs/stability.md"
ROW = re.compile(r"^\| *`(\w+)` *\|([^|]*)\|([^|]*)\|.*$", re.MULTILINE)


def check(root):
    page = tree.text(root, PAGE)
    headers = {}  # part -> its headers for programs
    for header in tree.public_headers(root) + tree.adapter_headers(root) + tree.component_headers(root):
        if "/" in header:
            headers.setdefault(header.split("/")[0], []).append(header)
    seen = set()
    for row in ROW.finditer(page):
        part, status, excepted, line = row[1], row[2].strip(), row[3], tree.line_of(page, row.start())
        if part not in headers:
            yield f"{PAGE}:{line}: '{part}' is no part with public headers"
            continue
        if part in seen:
            yield f"{PAGE}:{line}: '{part}' stands here twice"
        seen.add(part)
        if status not in ("stable", "experimental"):
            yield f"{PAGE}:{line}: '{part}' is '{status}'; it can be stable or experimental"
        words = {w for h in headers[part] for w in re.findall(r"\w+", tree.code(tree.text(root, f"src/ekiden/{h}")))}
        for name in re.findall(r"`([\w:]+)`", excepted):
            for word in re.findall(r"\w+", name):
                if word not in words:
                    yield f"{PAGE}:{line}: no public header of '{part}' has the name '{name}'"
                    break
    for part in sorted(set(headers) - seen):
        yield f"{PAGE}:1: does not say whether the part '{part}' is stable"


GOOD = {
    "src/ekiden/CMakeLists.txt": "set(EKIDEN_PUBLIC_HEADERS\n    ekiden.hpp\n    pool.hpp\n    pool/b.hpp\n    sim/c.hpp\n)\n",
    "src/ekiden/pool/b.hpp": "struct options { int spin; };\n",
    "src/ekiden/sim/c.hpp": "\n",
    PAGE: "| part | status | but |\n|---|---|---|\n| `pool` | stable | `options::spin` |\n| `sim` | experimental | |\n",
}
BAD = [
    {PAGE: "| `pool` | stable | |\n"},
    {PAGE: "| `pool` | stable | |\n| `sim` | new | |\n"},
    {PAGE: "| `pool` | stable | |\n| `sim` | stable | |\n| `sim` | experimental | |\n"},
    {PAGE: "| `pool` | stable | `options::sleep` |\n| `sim` | stable | |\n"},
    {PAGE: "| `pool` | stable | |\n| `sim` | stable | |\n| `sys` | stable | |\n"},
    {"src/ekiden/kafka/CMakeLists.txt": "ekiden_component(kafka\n  HEADERS d.hpp\n  SOURCES d.cpp)\n",
     "src/ekiden/kafka.hpp": "\n", "src/ekiden/kafka/d.hpp": "\n"},
]
