"""In the library, only src/ekiden/sys names the platform's atomics, threads, locks and system calls. src/ekiden/check
passes them on to programs."""

import re

import tree

NAMES = re.compile(
    r"\bstd::(atomic\w*|memory_order\w*|j?thread|this_thread|(recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex"
    r"|condition_variable\w*|counting_semaphore|binary_semaphore|latch|barrier)\b"
    r"|\b(FUTEX_\w+|SYS_futex\w*|pthread_\w+|__atomic_\w+|__sync_\w+|os_sync_\w+|__ulock_\w+)\b|\b(?:sched_\w+|syscall)(?=\s*\()"
)
HEADERS = {"atomic", "thread", "condition_variable", "semaphore", "latch", "barrier", "linux/futex.h", "pthread.h",
           "sched.h", "sys/syscall.h", "mach/mach.h", "os/os_sync_wait_on_address.h", "windows.h"}


def check(root):
    for path in tree.files(root, *tree.CPP, under="src/ekiden"):
        if path.parts[2] in ("sys", "check"):
            continue
        source = tree.text(root, path)
        for line, name in tree.includes(source):
            if name in HEADERS:
                yield f"{path}:{line}: <{name}> is included outside of src/ekiden/sys"
        text = tree.code(source)
        for match in NAMES.finditer(text):
            yield f"{path}:{tree.line_of(text, match.start())}: '{match[0]}' is named outside of src/ekiden/sys"


GOOD = {
    "src/ekiden/sys/atomic.hpp": "#include <atomic>\nstd::atomic<int> a;\n",
    "src/ekiden/queue/a.hpp": "// what std::atomic would be\nekiden::sys::atomic<int> a;\nekiden::barrier b;\n",
}
BAD = [
    {"src/ekiden/queue/a.hpp": "std::atomic<int> a;\n"},
    {"src/ekiden/queue/a.hpp": "#include <atomic>\n"},
    {"src/ekiden/pool/a.cpp": "std::thread t;\n"},
    {"src/ekiden/pool/a.cpp": "std::shared_mutex m;\n"},
    {"src/ekiden/pool/a.cpp": "std::condition_variable_any c;\n"},
    {"src/ekiden/sync/a.cpp": "syscall(SYS_futex, p);\n"},
    {"src/ekiden/sync/a.cpp": "pthread_rwlock_t l;\n"},
    {"src/ekiden/sync/a.cpp": "os_sync_wake_by_address_any(p, 4, f);\n"},
    {"src/ekiden/pool/a.cpp": "#include <mach/mach.h>\n"},
]
