"""Programs include public headers only. This applies to examples, the lab, programs of users that tests build, and C++
in documents: they include no header of ekiden in a folder detail/ and none of the parts sys, queue and context.
Examples and documents include the headers of whole parts (<ekiden/pool.hpp>), the adapters and the checker. Unit
tests, the seams and the checker may include any header."""

import re

import tree

PLACES = ("examples", "lab", "packaging", "tests/install", "tests/server", "tests/trace", "tests/coroutines")
EXEMPT = {"lab/peers/ekiden_source_locks.hpp"}  # locks on state_lock itself, which programs have through state_mutex
PRIVATE = re.compile(r"ekiden/(?:.*/)?detail/|ekiden/(?:sys|queue|context)/")
IN_PART = re.compile(r"ekiden/(?!adapter/|check/)\w+/")
MENTION = re.compile(r"<(ekiden/[\w/]+\.hpp)>")
PAGES = ("docs/", "README.md", "examples/")


def wrong(name, whole_parts):
    if PRIVATE.match(name):
        return f"'{name}' is private"
    if whole_parts and IN_PART.match(name):
        return f"'{name}' is a header inside a part; take '{'/'.join(name.split('/')[:2])}.hpp'"
    return None


def check(root):
    for place in PLACES:
        for path in tree.files(root, *tree.CPP, under=place):
            if path.as_posix() in EXEMPT:
                continue
            for line, name in tree.includes(tree.text(root, path)):
                if text := wrong(name.lstrip('"'), place == "examples"):
                    yield f"{path}:{line}: {text}"
    for path in tree.files(root, ".md"):
        source = tree.text(root, path)
        if not path.as_posix().startswith(PAGES):
            continue
        for match in MENTION.finditer(source):
            if text := wrong(match[1], whole_parts=True):
                yield f"{path}:{tree.line_of(source, match.start())}: {text}"


GOOD = {
    "examples/a.cpp": "#include <ekiden/pool.hpp>\n#include <ekiden/adapter/asio/boost.hpp>\n// <ekiden/sys/atomic.hpp>\n",
    "lab/experiments/a/ekiden.cpp": "#include <ekiden/sync/mutex.hpp>\n#include <ekiden/fork.hpp>\n",
    "lab/peers/ekiden_source_locks.hpp": "#include <ekiden/sync/detail/state_lock.hpp>\n",
    "tests/unit/pool/a_test.cpp": "#include <ekiden/pool/detail/crew.hpp>\n#include <ekiden/queue/task.hpp>\n",
    "docs/a.md": "`<ekiden/pool.hpp>`\n```cpp\n#include <ekiden/check/model.hpp>\n```\n",
    "check/README.md": "    #include <ekiden/queue/task.hpp>\n",
}
BAD = [
    {"examples/a.cpp": "#include <ekiden/pool/detail/crew.hpp>\n"},
    {"examples/a.cpp": "#include <ekiden/pool/thread_pool.hpp>\n"},
    {"examples/b/a.hpp": "#include <ekiden/sys/atomic.hpp>\n"},
    {"lab/experiments/a/ekiden.cpp": "#include <ekiden/sync/detail/state_lock.hpp>\n"},
    {"lab/experiments/a/ekiden.cpp": "#include <ekiden/queue/task.hpp>\n"},
    {"tests/install/consumer/main.cpp": "#include <ekiden/context/held_locks.hpp>\n"},
    {"docs/a.md": "```cpp\n#include <ekiden/pool/thread_pool.hpp>\n```\n"},
    {"docs/a.md": "`<ekiden/queue/task.hpp>`\n"},
    {"README.md": "`<ekiden/pool/detail/crew.hpp>`\n"},
]
