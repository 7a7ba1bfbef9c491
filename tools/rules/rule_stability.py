"""Each header that programs are meant to use (its "Used by:" line says so) stands in docs/stability.md, once: as stable or as
experimental; and no other header does."""

import re
from pathlib import Path

import tree

PAGE = "docs/stability.md"
NAMED = re.compile(r"`([\w/]+\.hpp)`")
USED_BY = re.compile(r"Used by:([^.]*(?:\.[a-z][^.]*)*)", re.DOTALL)


def is_for_programs(root, header):
    found = USED_BY.search(tree.text(root, header).replace("\n/// ", " "))
    return bool(found and re.search(r"\b(programs?|programs'|users?|everybody)\b", found[1]))


def check(root):
    page = tree.text(root, PAGE)
    named = [(match[1], tree.line_of(page, match.start())) for match in NAMED.finditer(page)]
    installed = tree.public_headers(root) + tree.adapter_headers(root)
    meant = {"ekiden.hpp"} | {h for h in installed if is_for_programs(root, Path("ekiden") / h)}
    seen = set()
    for header, line in named:
        if header not in meant:
            yield f"{PAGE}:{line}: '{header}' is no header that programs are meant to use"
        if header in seen:
            yield f"{PAGE}:{line}: '{header}' stands here twice"
        seen.add(header)
    for header in sorted(meant - seen):
        yield f"{PAGE}:1: does not say whether '{header}' is stable"


GOOD = {
    "ekiden/CMakeLists.txt": "set(EKIDEN_PUBLIC_HEADERS\n    ekiden.hpp\n    sys/a.hpp\n    pool/b.hpp\n)\n",
    "ekiden/ekiden.hpp": "\n",
    "ekiden/sys/a.hpp": "/// Part: sys. Used by: every part.\n",
    "ekiden/pool/b.hpp": "/// Part: pool. Used by: programs.\n",
    PAGE: "| `ekiden.hpp` |\n| `pool/b.hpp` |\n",
}
BAD = [
    {PAGE: "| `ekiden.hpp` |\n"},
    {PAGE: "| `ekiden.hpp`, `pool/b.hpp`, `sys/a.hpp` |\n"},
    {PAGE: "| `ekiden.hpp`, `pool/b.hpp` |\n| `pool/b.hpp` |\n"},
]
