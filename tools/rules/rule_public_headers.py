"""The public headers exist and include no private ones: an installed header must find all that it includes."""

import posixpath

import tree


def check(root):
    public = tree.public_headers(root)
    for header in public:
        path = f"ekiden/{header}"
        if not (root / path).is_file():
            yield f"ekiden/CMakeLists.txt:1: the public header '{header}' does not exist"
            continue
        for line, name in tree.includes(tree.text(root, path)):
            if name.startswith('"'):
                name = posixpath.normpath(posixpath.join(posixpath.dirname(path), name[1:]))
            if name.startswith("ekiden/") and name.removeprefix("ekiden/") not in public:
                yield f"{path}:{line}: a public header includes '{name}', which is private"


_LIST = "set(EKIDEN_PUBLIC_HEADERS\n    sys/a.hpp # the first\n    sys/b.hpp\n)\n"
GOOD = {
    "ekiden/CMakeLists.txt": _LIST,
    "ekiden/sys/a.hpp": "#include <ekiden/sys/b.hpp>\n",
    "ekiden/sys/b.hpp": "#include <vector>\n",
    "ekiden/sys/private.hpp": "#include <ekiden/sys/more.hpp>\n",
}
BAD = [
    {"ekiden/sys/a.hpp": "#include <ekiden/sys/private.hpp>\n"},
    {"ekiden/sys/a.hpp": '#include "private.hpp"\n'},
    {"ekiden/CMakeLists.txt": _LIST.replace("b.hpp", "b.hpp sys/gone.hpp")},
]
