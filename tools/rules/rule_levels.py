"""A part includes only itself and parts on lower levels. The library includes nothing from outside. Only the parts kafka and
postgres include the headers of librdkafka and libpq. In the lab, the
harness and the workloads do not depend on ekiden: only an experiment's files ekiden* include it."""

import posixpath
import re

import tree

LEVELS = {
    "sys": 0,
    "check": 1, "context": 1, "queue": 1, "observe": 1,
    "sync": 2, "records": 2,
    "future": 3,
    "execution": 4,
    "lanes": 5, "pool": 5, "loop": 5, "timer": 5,
    "fork": 6, "async": 6,
    "adapter": 7, "flow": 7, "sim": 7,
    "kafka": 8, "postgres": 8,
}
CLIENTS = {"librdkafka/rdkafka.h": "kafka", "librdkafka/rdkafka_mock.h": "kafka", "libpq-fe.h": "postgres"}
OUTSIDE = re.compile(r"(check|lab|tests|examples|tools)/")


def check(root):
    for path in tree.files(root, *tree.CPP, under="lab"):
        if path.parts[1] not in ("experiments", "harness") or path.name.startswith("ekiden"):
            continue
        for line, name in tree.includes(tree.text(root, path)):
            if name.startswith("ekiden/"):
                yield f"{path}:{line}: '{name}' is included by a file of the lab that does not stand for ekiden"
    for path in tree.files(root, *tree.CPP, under="src/ekiden"):
        if len(path.parts) < 4:  # ekiden.hpp, and the headers of whole parts: see rule public_headers
            continue
        part = path.parts[2]
        if part not in LEVELS:
            yield f"{path}:1: '{part}' is no part; parts are {', '.join(LEVELS)}"
            continue
        for line, name in tree.includes(tree.text(root, path)):
            if name.startswith('"'):
                name = posixpath.normpath(posixpath.join(path.parent.as_posix(), name[1:])).removeprefix("src/")
            if OUTSIDE.match(name) and not (part in ("sys", "check") and name.startswith("check/engine/")):
                yield f"{path}:{line}: the library includes '{name}', which is not part of it"
            if (owner := CLIENTS.get(name.lstrip('"'))) and part != owner:
                yield f"{path}:{line}: '{name}' is included outside of the part {owner}"
            if not name.startswith("ekiden/"):
                continue
            other = name.split("/")[1]
            if other == part:
                continue
            if other not in LEVELS:
                yield f"{path}:{line}: '{name}' is in no part"
            elif LEVELS[other] >= LEVELS[part]:
                yield f"{path}:{line}: {part} (level {LEVELS[part]}) includes {other} (level {LEVELS[other]})"


GOOD = {
    "src/ekiden/postgres/a.cpp": "#include <ekiden/records/record.hpp>\n#include <libpq-fe.h>\n",
    "src/ekiden/pool/a.hpp": "#include <ekiden/queue/task.hpp>\n#include <ekiden/pool/b.hpp>\n#include <vector>\n",
    "lab/experiments/a/ekiden.cpp": "#include <ekiden/pool/thread_pool.hpp>\n",
}
BAD = [
    {"src/ekiden/queue/a.hpp": "#include <ekiden/pool/thread_pool.hpp>\n"},
    {"src/ekiden/queue/a.hpp": '#include "../pool/thread_pool.hpp"\n'},
    {"src/ekiden/pool/a.hpp": "#include <ekiden/timer/wheel.hpp>\n"},
    {"src/ekiden/queue/detail/a.hpp": '#include "../../pool/thread_pool.hpp"\n'},
    {"src/ekiden/pool/detail/a.hpp": "#include <ekiden/timer/detail/wheel.hpp>\n"},
    {"src/ekiden/pool/a.hpp": "#include <ekiden/ekiden.hpp>\n"},
    {"src/ekiden/fork/a.hpp": "#include <ekiden/pool.hpp>\n"},
    {"src/ekiden/pool/a.cpp": "#include <lab/harness/clock.hpp>\n"},
    {"src/ekiden/helpers/a.hpp": "\n"},
    {"lab/experiments/a/a.hpp": "#include <ekiden/pool/thread_pool.hpp>\n"},
    {"src/ekiden/kafka/a.cpp": "#include <libpq-fe.h>\n"},
    {"src/ekiden/kafka/a.cpp": "#include <ekiden/postgres/worker.hpp>\n"},
]
