"""The public headers exist and include no private ones, since an installed header must find all that it includes; and
<ekiden/ekiden.hpp> brings in every one of them, directly or not. The headers of adapters, which are installed too, include
no private ones either; no public header includes one of theirs."""

import posixpath

import tree

ALL = "ekiden.hpp"


def included(root, header):
    """Pairs (line, header of ekiden/) of what a public header includes."""
    path = f"ekiden/{header}"
    for line, name in tree.includes(tree.text(root, path)):
        if name.startswith('"'):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), name[1:]))
        if name.startswith("ekiden/"):
            yield line, name.removeprefix("ekiden/")


def check(root):
    public = tree.public_headers(root)
    graph = {}
    for header in public:
        if not (root / "ekiden" / header).is_file():
            yield f"src/ekiden/CMakeLists.txt:1: the public header '{header}' does not exist"
            continue
        graph[header] = []
        for line, name in included(root, header):
            graph[header].append(name)
            if name not in public:
                yield f"ekiden/{header}:{line}: a public header includes '{name}', which is private"
    adapters = tree.adapter_headers(root)
    for header in adapters:
        if not (root / "ekiden" / header).is_file():
            yield f"src/ekiden/CMakeLists.txt:1: the adapter's header '{header}' does not exist"
            continue
        for line, name in included(root, header):
            if name not in public and name not in adapters:
                yield f"ekiden/{header}:{line}: an adapter's header includes '{name}', which is private"
    reached, to_do = set(), [ALL]
    while to_do:
        header = to_do.pop()
        if header not in reached:
            reached.add(header)
            to_do += graph.get(header, [])
    for header in public:
        if header not in reached:
            yield f"ekiden/{ALL}:1: does not bring in the public header '{header}'"


_LIST = (
    "set(EKIDEN_PUBLIC_HEADERS\n    ekiden.hpp # all\n    sys/a.hpp\n    sys/b.hpp\n)\n"
    "set(EKIDEN_ADAPTER_HEADERS\n    adapter/a.hpp\n)\n"
)
GOOD = {
    "src/ekiden/CMakeLists.txt": _LIST,
    "src/ekiden/ekiden.hpp": "#include <ekiden/sys/a.hpp>\n",
    "src/ekiden/sys/a.hpp": "#include <ekiden/sys/b.hpp>\n",
    "src/ekiden/sys/b.hpp": "#include <vector>\n",
    "src/ekiden/sys/private.hpp": "#include <ekiden/sys/more.hpp>\n",
    "src/ekiden/adapter/a.hpp": "#include <ekiden/sys/a.hpp>\n",
}
BAD = [
    {"src/ekiden/adapter/a.hpp": "#include <ekiden/sys/private.hpp>\n"},
    {"src/ekiden/sys/b.hpp": "#include <ekiden/adapter/a.hpp>\n"},
    {"src/ekiden/sys/b.hpp": "#include <ekiden/sys/private.hpp>\n"},
    {"src/ekiden/sys/b.hpp": '#include "private.hpp"\n'},
    {"src/ekiden/sys/a.hpp": "#include <vector>\n"},
    {"src/ekiden/CMakeLists.txt": _LIST.replace("b.hpp", "b.hpp sys/gone.hpp")},
]
