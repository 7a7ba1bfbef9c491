"""The folder says what is public, and the lists of src/ekiden/CMakeLists.txt say the same.

* EKIDEN_PUBLIC_HEADERS has each header that lies directly in a part's folder, ekiden.hpp and the parts' own headers.
* EKIDEN_DETAIL_HEADERS has headers of detail/ folders, and of sys, queue and context, which are private but installed.
* <ekiden/PART.hpp> includes every public header of its part. Beside these it may include headers of context.
* An installed header includes installed ones only. The headers of the adapters and the checker are installed, too; no other
  header includes one of theirs. <ekiden/ekiden.hpp> brings in every public header, and together with the adapters every
  private one that is installed.
* A part with a library of its own lists its headers in its own CMakeLists.txt: see src/ekiden/component.cmake. Its header
  <ekiden/PART.hpp> includes every public header of the part. No header of another part includes one of these.
* The lists are sorted.
"""

import posixpath

import tree

ALL = "ekiden.hpp"
PRIVATE = ("sys", "queue", "context")
BESIDE = ("adapter", "check")


def included(root, header):
    """Pairs (line, header of src/ekiden/) of what a header includes."""
    path = f"ekiden/{header}"
    for line, name in tree.includes(tree.text(root, f"src/{path}")):
        if name.startswith('"'):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), name[1:]))
        if name.startswith("ekiden/"):
            yield line, name.removeprefix("ekiden/")


def is_private(header):
    return "/detail/" in header or header.split("/")[0] in PRIVATE


def components(root):
    """What the lists of parts with a library of their own, and their folders, say of each other."""
    public, detail = tree.component_headers(root), tree.component_headers(root, "DETAIL_HEADERS")
    parts = {header.split("/")[0] for header in public if "/" in header}
    for header in public + detail:
        if not (root / "src/ekiden" / header).is_file():
            yield f"src/ekiden/{header.split('/')[0]}/CMakeLists.txt:1: the header '{header}' does not exist"
            return
    allowed = {*tree.public_headers(root), *tree.detail_headers(root), *public, *detail}
    graph = {header: [name for _, name in included(root, header)] for header in public + detail}
    for header in public + detail:
        for line, name in included(root, header):
            if name not in allowed:
                yield f"src/ekiden/{header}:{line}: an installed header includes '{name}', which is not installed"
    for part in sorted(parts):
        where = f"src/ekiden/{part}/CMakeLists.txt:1"
        mine = [h for h in public if h.startswith(part + "/")]
        private = [h for h in detail if h.startswith(part + "/")]
        for listed in (mine, private):
            if listed != sorted(listed):
                yield f"{where}: a list of headers is not sorted"
        for header in sorted(set(mine) - set(graph[f"{part}.hpp"])):
            yield f"src/ekiden/{part}.hpp:1: does not include the part's public header '{header}'"
        for header in sorted(set(private) - reached(graph, [f"{part}.hpp"])):
            yield f"{where}: no public header needs '{header}', which is installed"
        for path in tree.files(root, ".hpp", under=f"src/ekiden/{part}"):
            header = path.relative_to("src/ekiden").as_posix()
            if is_private(header) == (header in mine):
                yield f"{where}: the header '{header}' lies in the wrong folder, or is not listed"


def places(root, public, detail):
    """What the lists and the folders say of each other."""
    parts = {header.split("/")[0].removesuffix(".hpp") for header in tree.component_headers(root)}
    found = [p.relative_to("src/ekiden").as_posix() for p in tree.files(root, ".hpp", under="src/ekiden")]
    for header in found:
        if header.split("/")[0].removesuffix(".hpp") not in (*BESIDE, *parts) and not is_private(header) and header not in public:
            yield f"src/ekiden/{header}:1: lies among the public headers, but is not listed as one"
    for header in public:
        if is_private(header) or header.split("/")[0] in BESIDE:
            yield f"{tree.LISTS}:1: '{header}' is listed as public, but lies among private headers"
    for header in detail:
        if not is_private(header):
            yield f"{tree.LISTS}:1: '{header}' is listed as private, but lies among public headers"
    for header in public:
        part = header.removesuffix(".hpp")
        if "/" in header or header == ALL or not (root / "src/ekiden" / part).is_dir():
            continue
        brought = {name for _, name in included(root, header)}
        meant = {h for h in public if h.startswith(part + "/")}
        for other in sorted(meant - brought):
            yield f"src/ekiden/{header}:1: does not include the part's public header '{other}'"
        for other in sorted(h for h in brought - meant if not h.startswith("context/")):
            yield f"src/ekiden/{header}:1: includes '{other}', which is no public header of the part"


def order(root):
    for name in ("EKIDEN_PUBLIC_HEADERS", "EKIDEN_DETAIL_HEADERS", "EKIDEN_ADAPTER_HEADERS", "EKIDEN_SOURCES",
                 "EKIDEN_LINUX_SOURCES", "EKIDEN_MACOS_SOURCES", "EKIDEN_POSIX_SOURCES", "EKIDEN_WINDOWS_SOURCES"):
        listed = tree.cmake_list(root, name)
        pairs = [(path != ALL, "/" in path, path) for path in listed]
        for before, after in zip(pairs, pairs[1:]):
            if before >= after:
                yield f"{tree.LISTS}:1: {name} is not sorted: '{after[2]}' stands behind '{before[2]}'"


def reached(graph, begin):
    """What the headers in `begin` bring in, directly or not."""
    found, to_do = set(), list(begin)
    while to_do:
        header = to_do.pop()
        if header not in found:
            found.add(header)
            to_do += graph.get(header, [])
    return found


def check(root):
    public, detail, adapters = tree.public_headers(root), tree.detail_headers(root), tree.adapter_headers(root)
    absent = [h for h in public + detail + adapters if not (root / "src/ekiden" / h).is_file()]
    for header in absent:
        yield f"{tree.LISTS}:1: the header '{header}' does not exist"
    if absent:
        return
    yield from order(root)
    yield from places(root, public, detail)
    yield from components(root)
    graph = {}
    for header in public + detail + adapters:
        allowed = public + detail + (adapters if header in adapters else [])
        graph[header] = []
        for line, name in included(root, header):
            graph[header].append(name)
            if name not in allowed:
                yield f"src/ekiden/{header}:{line}: an installed header includes '{name}', which is not installed with it"
    for header in sorted(set(public) - reached(graph, [ALL])):
        yield f"src/ekiden/{ALL}:1: does not bring in the public header '{header}'"
    for header in sorted(set(detail) - reached(graph, [ALL, *adapters])):
        yield f"{tree.LISTS}:1: no public header needs '{header}', which is installed"


_LIST = (
    "set(EKIDEN_PUBLIC_HEADERS\n    ekiden.hpp # all\n    pool.hpp\n    pool/a.hpp\n    pool/b.hpp\n)\n"
    "set(EKIDEN_DETAIL_HEADERS\n    pool/detail/c.hpp\n    sys/d.hpp\n)\n"
    "set(EKIDEN_ADAPTER_HEADERS\n    adapter/a.hpp\n)\n"
)
_COMPONENT = (
    "ekiden_component(postgres\n  HEADERS e.hpp\n  DETAIL_HEADERS detail/f.hpp\n  SOURCES detail/e.cpp\n"
    '  LIBRARIES PostgreSQL::PostgreSQL\n  FIND "find_dependency(PostgreSQL)")\n'
)
GOOD = {
    tree.LISTS: _LIST,
    "src/ekiden/ekiden.hpp": "#include <ekiden/pool.hpp>\n",
    "src/ekiden/pool.hpp": "#include <ekiden/pool/a.hpp>\n#include <ekiden/pool/b.hpp>\n",
    "src/ekiden/pool/a.hpp": "#include <ekiden/pool/detail/c.hpp>\n",
    "src/ekiden/pool/b.hpp": "#include <vector>\n",
    "src/ekiden/pool/detail/c.hpp": "#include <ekiden/sys/d.hpp>\n",
    "src/ekiden/pool/detail/private.hpp": "#include <ekiden/sys/private.hpp>\n",
    "src/ekiden/sys/d.hpp": "#include <vector>\n",
    "src/ekiden/adapter/a.hpp": "#include <ekiden/sys/d.hpp>\n",
    "src/ekiden/postgres/CMakeLists.txt": _COMPONENT,
    "src/ekiden/postgres.hpp": "#include <ekiden/postgres/e.hpp>\n",
    "src/ekiden/postgres/e.hpp": "#include <ekiden/postgres/detail/f.hpp>\n#include <ekiden/pool/a.hpp>\n",
    "src/ekiden/postgres/detail/f.hpp": "#include <vector>\n",
    "src/ekiden/postgres/detail/own.hpp": "#include <ekiden/sys/private.hpp>\n",
}
BAD = [
    {"src/ekiden/adapter/a.hpp": "#include <ekiden/pool/detail/private.hpp>\n"},
    {"src/ekiden/sys/d.hpp": "#include <ekiden/adapter/a.hpp>\n"},
    {"src/ekiden/pool/b.hpp": "#include <ekiden/pool/detail/private.hpp>\n"},
    {"src/ekiden/pool/detail/c.hpp": '#include "private.hpp"\n#include <ekiden/sys/d.hpp>\n'},
    {"src/ekiden/pool/a.hpp": "#include <vector>\n"},
    {"src/ekiden/pool.hpp": "#include <ekiden/pool/a.hpp>\n"},
    {"src/ekiden/pool.hpp": GOOD["src/ekiden/pool.hpp"] + "#include <ekiden/pool/detail/c.hpp>\n"},
    {"src/ekiden/pool/new.hpp": "#include <vector>\n"},
    {tree.LISTS: _LIST.replace("pool/b.hpp", "pool/b.hpp pool/gone.hpp")},
    {tree.LISTS: _LIST.replace("    pool/a.hpp\n    pool/b.hpp\n", "    pool/b.hpp\n    pool/a.hpp\n")},
    {tree.LISTS: _LIST.replace("    pool/b.hpp\n", "    pool/b.hpp\n    sys/d.hpp\n").replace("    sys/d.hpp\n)\nset(EKIDEN_ADAPTER", ")\nset(EKIDEN_ADAPTER")},
    {"src/ekiden/postgres.hpp": "#include <vector>\n"},
    {"src/ekiden/postgres/new.hpp": "#include <vector>\n"},
    {"src/ekiden/postgres/e.hpp": "#include <ekiden/postgres/detail/own.hpp>\n"},
    {"src/ekiden/pool/a.hpp": GOOD["src/ekiden/pool/a.hpp"] + "#include <ekiden/postgres/e.hpp>\n"},
    {"src/ekiden/postgres/CMakeLists.txt": _COMPONENT.replace("detail/f.hpp", "detail/f.hpp detail/own.hpp")},
    {"src/ekiden/postgres/CMakeLists.txt": _COMPONENT.replace("e.hpp\n  D", "e.hpp gone.hpp\n  D")},
]
