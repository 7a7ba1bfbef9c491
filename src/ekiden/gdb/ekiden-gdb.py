"""GDB pretty printers for ekiden. They show the meaning of a lock, a future, a pool and a coroutine, on one line each.

GDB loads them automatically with the shared library. For a program that is linked statically:
    (gdb) source PREFIX/share/ekiden/ekiden-gdb.py
They read memory and call no function of the program, so they also work on a core file. A value that another thread is
changing may look inconsistent. Objects inside the library (a pool's workers) need the library's debugging information.
"""

import re

import gdb
import gdb.printing

ABI = re.compile(r"^(?:const |volatile )*(ekiden::(?:\w+::)?)(?:detail::)?(\w+)(<.*)?$", re.DOTALL)
INLINE = re.compile(r"\bekiden::(?:v0|checked|annotated|annotated_with_lock_checks|with_lock_checks)::")


# ---- values of the standard library

def atomic(value):
    """Returns the value in a std::atomic of libstdc++ or libc++."""
    for path in (("_M_i",), ("_M_b", "_M_p"), ("_M_base", "_M_i"), ("__a_", "__a_value")):
        found = value
        try:
            for name in path:
                found = found[name]
            return found
        except gdb.error:
            pass
    raise gdb.error(f"no std::atomic that is known: {value.type}")


def owned(unique):
    """Returns the pointer in a std::unique_ptr with an empty deleter. The pointer is its only content."""
    target = unique.type.strip_typedefs().template_argument(0)
    return unique.address.cast(target.pointer().pointer()).dereference()


def text(string):
    """Returns the bytes of a std::string of libstdc++."""
    return string["_M_dataplus"]["_M_p"].string()


def elements(array):
    """Returns the elements of a built-in array."""
    return [array[i] for i in range(array.type.strip_typedefs().range()[1] + 1)]


def enumerator(value):
    return str(value).rpartition("::")[2]


# ---- names

def simple(name):
    return INLINE.sub("ekiden::", name)


def beside(value, name):
    """Returns the type `name` in the namespace of the type of `value`. A program may contain two builds of ekiden."""
    return gdb.lookup_type(ABI.match(value.type.strip_typedefs().unqualified().name)[1] + name)


def closed(name, start):
    """Returns the position after the bracket that closes the one at `start`, in the name of a type."""
    depth = 0
    for place in range(start, len(name)):
        if name[place] == ">" and name[place - 1] == "-":
            continue
        depth += (name[place] in "<({[") - (name[place] in ">)}]")
        if not depth:
            return place + 1
    return len(name)


def arguments(name):
    """Returns the template arguments in the first pair of <> of a name."""
    start = name.index("<") + 1
    end, place, found = closed(name, start - 1) - 1, start, []
    while place < end:
        if name[place] in "<({[":
            place = closed(name, place)
        elif name[place] == ",":
            found.append(name[start:place].strip())
            start = place = place + 1
        else:
            place += 1
    return found + [name[start:end].strip()]


KINDS = {"callable_task": 0, "allocated_task": 0, "task_state": 1}  # which argument is the callable


def task_type(function):
    """Returns the type of a task's callable, found by the task's function. Uses the symbols, so it needs no debugging
    information of the library."""
    if int(function) == 0:
        return "no task"
    symbol = gdb.execute(f"info symbol {int(function):#x}", to_string=True)
    if symbol.startswith("No symbol"):
        return f"a task whose type has no name, {int(function):#x}"
    symbol = re.sub(r" (\+ \d+ )?in section .*\n", "", symbol)
    if "coroutine" in symbol.partition("<")[0] or "suspension" in symbol.partition("<")[0]:
        return "a coroutine"
    owner = re.search(r"\bekiden::(?:\w+::)*(\w+)(?=<)", symbol)
    if owner is None:
        return simple(symbol.partition("::answer")[0])
    if owner[1] == "promise_state":
        return "a promise"
    if owner[1] in KINDS:
        return simple(arguments(symbol[owner.end():])[KINDS[owner[1]]])
    return simple(symbol[owner.start():closed(symbol, owner.end())])


# ---- locks

class state_lock:
    """The content of a lock's word. This class alone knows the layout of locks: see sync/detail/state_lock.hpp."""

    def __init__(self, lock):
        self.lock = lock
        self.word = int(atomic(lock["word_"]))
        self.shift = int(lock["newest_shift"])
        self.is_locked = self.word & 1 != 0
        self.state = self.word >> 4 & 63
        self.payload = (self.word & (1 << self.shift) - 1) >> 10

    def waiters(self):
        """Returns the number of waiters: the listed ones, the new ones, and the woken one that is about to return."""
        count = self.listed() + (self.word >> 3 & 1)
        alignment = int(self.lock["alignment_bits"])
        link = gdb.Value(self.word >> self.shift << alignment).cast(beside(self.lock, "wait_link").pointer())
        while link:
            count, link = count + 1, link["next"]
        return count

    def listed(self):
        """Returns the number in the list's first waiter: see sync/detail/wait_list.hpp."""
        words = self.lock["list_"]
        head = (int(atomic(words["word_"])) >> int(words["note_bits"])) & ~1
        if not head:
            return 0
        return int(gdb.Value(head).cast(beside(words, "wait_link").pointer())["totals_"]["value_"]) & 0xFFFFFFFF

    def queue(self):
        count = self.waiters()
        return f", {count} {'wait' if count != 1 else 'waits'}" if count else ""


def said(lock, what):
    inside = state_lock(lock)
    return what(inside) + inside.queue()


def mutex(value):
    return said(value["lock_"], lambda lock: "taken" if lock.is_locked else "free")


READERS = {"read", "full", "drain", "upgrading", "readers_turn"}


def rw_mutex(value):
    def about(lock):
        state = enumerator(gdb.Value(lock.state).cast(beside(value, "rw_state")))
        inside = f", {lock.payload} {'readers' if lock.payload != 1 else 'reader'} inside" if state in READERS else ""
        return state + inside
    return said(value["lock_"], about)


def state_mutex(value):
    try:
        states = value["initial"].type.unqualified()
    except gdb.error:  # LLDB 19 has no value of this member, but the type of the table
        table = value.type.strip_typedefs().template_argument(0)
        is_refined = "::refined_table<" in table.name  # its first argument is the parent table
        states = table.template_argument(1 if is_refined else 0)
    return said(value["lock_"], lambda lock: enumerator(gdb.Value(lock.state).cast(states))
                + (", somebody is inside" if lock.is_locked else ""))


def semaphore(value):
    return said(value["lock_"], lambda lock: f"{lock.payload + int(value['rest_'])} permits")


def event(value):
    return said(value["lock_"], lambda lock: "set" if lock.state else "not set")


def latch(value):
    return f"{int(atomic(value['missing_']))} missing" + state_lock(value["done_"]["lock_"]).queue()


def barrier(value):
    return said(value["lock_"], lambda lock: f"{lock.payload if value['in_word_'] else int(value['missing_'])} missing")


def buffer(value):
    ring = value["ring_"]
    return said(value["lock_"], lambda lock: f"{int(ring['size_'])} of {int(ring['capacity_'])} items"
                + (", closed" if lock.state >= 3 else ""))


def spin_mutex(value):
    return "taken" if atomic(value["taken_"]) else "free"


# ---- futures

def thrown_type(error):
    """Returns the type of the exception in a std::exception_ptr of libstdc++. It is stored before the object."""
    word = gdb.lookup_type("unsigned long")
    header = int(error["_M_exception_object"].cast(word)) - 14 * word.sizeof
    symbol = gdb.execute(f"info symbol {int(gdb.Value(header).cast(word.pointer()).dereference()):#x}", to_string=True)
    found = re.match(r"typeinfo for (.*?)(?:@\S*)?(?: in section .*)?\n", symbol)
    return found[1] if found else "a type that has no name"


def result_of(state):
    """Returns the state of a result that is not a value, or None."""
    status = int(atomic(state["status_"]))
    if status & 2 == 0:
        if not bool(state["is_cancelable_"]):
            return "pending"
        return ("runs: " if status & 1 else "queued: ") + task_type(state["answer_"])
    outcome = enumerator(state["outcome_"])
    if outcome == "exception":
        return "exception " + thrown_type(state["error_"])
    return None if outcome == "value" else outcome.replace("_", " ")


class future:
    def __init__(self, value, name):
        self.name = name
        self.state = value["state_"]

    def has_value(self):
        return bool(self.state) and result_of(self.state.dereference()) is None

    def to_string(self):
        if not self.state:
            return f"{self.name}: no state"
        return f"{self.name}: {result_of(self.state.dereference()) or 'value'}"

    def children(self):
        if self.has_value():
            value = self.state["value_"]
            if value.type.strip_typedefs().code != gdb.TYPE_CODE_STRUCT or value.type.strip_typedefs().fields():
                yield "value", value


# ---- coroutines

def chain_of(promise):
    """Returns the promises from the root to the waiting leaf."""
    while promise["link"] and promise["link"]["parent"]:
        promise = promise["link"]["parent"].dereference()
    while True:
        yield promise
        if not promise["child"]:
            return
        promise = promise["child"].dereference()


def place_of(promise):
    """Returns the location in the form of await_chain()."""
    where = promise["where_"]["_M_impl"]
    name = promise["env_"]["name"] if promise["env_"] else None
    line = int(promise["line_"])
    return ((name.string() + ": " if name else "") + simple(where["_M_function_name"].string())
            + f" ({where['_M_file_name'].string()}:{int(where['_M_line'])}), "
            + (f"at line {line}" if line else "not begun"))


class coroutine_promise:
    def __init__(self, value, _name):
        self.value = value.cast(beside(value, "coroutine_promise"))

    def to_string(self):
        chain = list(chain_of(self.value))
        if len(chain) == 1:
            return "coroutine " + place_of(self.value)
        return f"coroutine, [{[p.address for p in chain].index(self.value.address)}] of this chain"

    def children(self):
        chain = list(chain_of(self.value))
        for depth, promise in enumerate(chain if len(chain) > 1 else []):
            yield f"[{depth}]", place_of(promise)


class coroutine(coroutine_promise):
    """A coroutine that has not been awaited yet. Its promise follows the two function pointers at the start of its
    frame."""

    def __init__(self, value, _name):
        self.value = None
        frame = value["handle_"]["_M_fr_ptr"]
        if frame:
            promise = beside(value, "coroutine_promise").pointer()
            self.value = (frame.cast(gdb.lookup_type("char").pointer()) + 2 * frame.type.sizeof).cast(promise).dereference()

    def to_string(self):
        return super().to_string() if self.value is not None else "coroutine: awaited, or moved from"

    def children(self):
        return super().children() if self.value is not None else ()


def coroutines_of(context):
    """Returns the roots of the coroutines that were spawned on a context and have not ended."""
    service = atomic(context["newest_"])
    while service:
        found = service.dynamic_type.target()
        if found.name.endswith("::coroutine_service"):
            for shard in elements(service.cast(found.pointer())["shards_"]):
                root = shard["first"]
                while root:
                    yield root["root_"].referenced_value()
                    root = root["next_"]
        service = service["older_"]


# ---- pools

class thread_pool:
    """A pool in the form of thread_pool::dump(), without the parts that need a second sample."""

    def __init__(self, value, _name):
        self.value = value
        self.engine = owned(value["scheduler_"]).dereference()
        workers = self.engine["threads_"]["workers_"].address
        first = workers.cast(beside(value, "worker").pointer().pointer().pointer()).dereference()
        self.workers = [first[i].dereference() for i in range(int(atomic(self.engine["threads_"]["enlisted_"])))]

    def to_string(self):
        gate = int(atomic(self.engine["gate_"]))
        alive = sum(enumerator(atomic(w["is_"])) != "gone" for w in self.workers)
        words = [("paused", 4), ("stopped", 2), ("closed", 1)]
        return f"thread_pool \"{self.pool_name()}\": {alive} threads" + "".join(f", {w}" for w, bit in words if gate & bit)

    def pool_name(self):
        return text(self.engine["options_"]["name"])

    def worker_name(self, worker):
        return f"{self.pool_name()}-{int(worker['index_'])}"

    def runner_of(self, task):
        for worker in self.workers:
            stack = worker["on_stack_"]["_M_elems"]
            shown = [atomic(each["self"]) for each in elements(stack)]
            if task in [atomic(worker["running_"]), *shown]:
                return worker
        return None

    def about(self, worker):
        doing = enumerator(atomic(worker["is_"]))
        current = task_type(atomic(worker["running_type_"]))
        awaited = atomic(worker["awaited_"])
        blocked_on = atomic(worker["blocked_on_"])
        if doing == "standing_by":
            return "stands by"
        if blocked_on:
            return f"blocked on {blocked_on.string()}, in {current}"
        if doing == "asleep" and not awaited:
            return "sleeps without tasks"
        if doing == "asleep":
            runner = self.runner_of(awaited)
            return (f"waits for {task_type(atomic(worker['awaited_type_']))}, which "
                    + (f"{self.worker_name(runner)} runs" if runner is not None else "no worker of this pool runs"))
        return f"runs {current}, or has ended it" if current != "no task" else "searches for a task"

    def children(self):
        for worker in self.workers:
            if enumerator(atomic(worker["is_"])) != "gone":
                yield self.worker_name(worker), self.about(worker)
        yield from contexts_coroutines(self.value)


def contexts_coroutines(context):
    for i, promise in enumerate(coroutines_of(context)):
        yield f"coroutine {i}", promise


class loop_context:
    def __init__(self, value, _name):
        self.value = value

    def to_string(self):
        return f"loop_context with {len(list(coroutines_of(self.value)))} coroutines"

    def children(self):
        return contexts_coroutines(self.value)


# ---- which for which

class in_a_line:
    def __init__(self, value, name, say):
        self.value, self.name, self.say = value, name, say

    def to_string(self):
        return f"{self.name}: {self.say(self.value)}"


LINES = {
    "mutex": mutex, "fifo_mutex": mutex, "basic_hybrid_mutex": mutex, "spin_mutex": spin_mutex, "rw_mutex": rw_mutex,
    "state_mutex": state_mutex, "counting_semaphore": semaphore, "event": event, "latch": latch, "barrier": barrier,
    "bounded_buffer": buffer, "watermark_buffer": buffer,
}
TREES = {
    "future": future, "shared_future": future, "promise": future, "coroutine": coroutine,
    "coroutine_promise": coroutine_promise, "coroutine_promise_of": coroutine_promise, "thread_pool": thread_pool,
    "loop_context": loop_context,
}


def printer_of(value):
    found = ABI.match(value.type.strip_typedefs().unqualified().name or "")
    if found is None or (found[3] and closed(found[3], 0) != len(found[3])):
        return None
    name = found[2]
    if name in LINES:
        return in_a_line(value, name, LINES[name])
    return TREES[name](value, name) if name in TREES else None


printer_of.name = "ekiden"
printer_of.enabled = True
gdb.printing.register_pretty_printer(gdb.current_objfile(), printer_of, replace=True)
