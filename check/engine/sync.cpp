// Futexes, threads and time of a model.
#include <check/engine/engine.hpp>
#include <check/engine/text.hpp>

#include <algorithm>

namespace ekiden::check {
namespace {
constexpr std::string_view sleeps = "sleeps";
} // namespace

// The kernel compares and falls asleep atomically, ordered with other futex calls on the word. Plain accesses
// are not ordered. So the compared value may be an old one, unless the writer of a newer value has called
// futex_wake since. That is the contract of sys::futex_wait. Linux guarantees more.
wait_result engine::wait_on(location& l, std::uint64_t expected, std::uint64_t deadline, const site& where) {
    const operation op{kind::wait, false, l.id, l.address};
    point(op, where);
    model_thread& t = self();
    const unsigned newest = l.count - 1U;
    const unsigned oldest = weak ? std::max<unsigned>(t.current.seen[l.id], l.woken) : newest;
    bool holds = l.messages[newest].value == expected;
    bool may_hold = false;
    for (unsigned at = oldest; !holds && at < newest; ++at)
        may_hold = may_hold || l.messages[at].value == expected;
    if (!holds && may_hold) holds = choose(2) == 1;
    if (!holds) {
        if (tracing)
            record("futex_wait " + name_of(l), text::value(l.messages[newest].value, l.size),
                   "returns: not " + text::value(expected, l.size), where);
        t.current.seen[l.id] = static_cast<stamp>(newest);
        done(op);
        return wait_result::unequal;
    }
    const std::string_view how = queue_up(l.address, deadline);
    if (tracing) record("futex_wait " + name_of(l), text::value(expected, l.size), std::string(how), where);
    if (how == sleeps) t.state = status::waiting;
    done(op);
    return leave_queue(where);
}

/// Puts the running thread into the queue of `at`. Returns how it will leave the queue, which is a choice:
/// woken, spuriously, or by a timeout, within their budgets.
std::string_view engine::queue_up(const void* at, std::uint64_t deadline) {
    model_thread& t = self();
    const bool may_wake = spurious < subject->how.spurious;
    const bool has_deadline = deadline != never;
    const bool may_expire = has_deadline && timeouts < subject->how.timeouts;
    const unsigned picked =
        has_deadline && now >= deadline ? 3 : choose(1U + (may_wake ? 1U : 0U) + (may_expire ? 1U : 0U));
    t.result = wait_result::woken;
    t.queue = at;
    t.queued = true;
    t.deadline = deadline;
    if (picked == 0) return sleeps;
    if (picked == 1 && may_wake) {
        ++spurious;
        return "wakes spuriously, when its turn comes";
    }
    ++timeouts;
    t.result = wait_result::timed_out;
    return "times out, unless woken before its turn comes";
}

/// Returns when the running thread has left its queue and runs again.
wait_result engine::leave_queue(const site& where) {
    model_thread& t = self();
    t.pending = {};
    leave();
    t.queued = false;
    t.queue = nullptr;
    if (t.result == wait_result::timed_out) {
        now = std::max(now, t.deadline);
        if (tracing) record("wait", "", "timed out", where);
    }
    return t.result;
}

// A mutex is acquired and released only by read-modify-writes, which see the newest value. So its only
// schedules are those in which its threads take turns.
void engine::lock(location& mutex, const site& where) {
    while (modify(mutex, arithmetic::exchange, 1, order::acquire, where) != 0)
        wait_while(mutex, 1, "mutex", where);
}

/// Sleeps until a wake-up if the newest value of `l` is `value`. Never returns spuriously.
void engine::wait_while(location& l, std::uint64_t value, std::string_view what, const site& where) {
    const operation op{kind::wait, false, l.id, l.address};
    point(op, where);
    const bool taken = l.messages[l.count - 1U].value == value;
    if (taken) {
        model_thread& t = self();
        if (tracing) record("waits for " + std::string(what) + " " + name_of(l), "", "", where);
        t.result = wait_result::woken;
        t.queue = l.address;
        t.queued = true;
        t.deadline = never;
        t.state = status::waiting;
    }
    done(op);
    if (taken) (void)leave_queue(where);
}

void engine::unlock(location& mutex, const site& where) {
    (void)modify(mutex, arithmetic::exchange, 0, order::release, where);
    (void)wake(mutex.address, 1, where, "unlock");
}

wait_result engine::wait_unlocked(const void* condition, location& mutex, std::uint64_t deadline,
                                  const site& where) {
    const operation op{kind::wait, false, no_location, condition};
    point(op, where);
    const std::string_view how = queue_up(condition, deadline);
    if (tracing) record("wait", "", std::string(how), where);
    done(op);
    unlock(mutex, where);
    model_thread& t = self();
    if (how == sleeps && t.queued) t.state = status::waiting;
    const wait_result woken = leave_queue(where);
    lock(mutex, where);
    return woken;
}

int engine::wake(const void* at, unsigned count, const site& where, std::string_view called) {
    const operation op{kind::wake, false, no_location, at};
    point(op, where);
    if (const object* o = find(at); o != nullptr && o->record != nullptr && !o->dead) {
        // A later wait on the word must not compare with values that this thread knows to be old.
        auto& l = *static_cast<location*>(o->record);
        l.woken = std::max(l.woken, self().current.seen[l.id]);
    }
    int woken = 0;
    std::string who;
    while (static_cast<unsigned>(woken) < count) {
        std::array<unsigned, max_threads> sleepers{};
        unsigned number_of = 0;
        for (unsigned i = 0; i < thread_count; ++i) {
            if (threads[i].queued && threads[i].queue == at) sleepers[number_of++] = i;
        }
        if (number_of == 0) break;
        model_thread& t = threads[sleepers[choose(count >= max_threads ? 1 : number_of)]];
        t.queued = false;
        t.queue = nullptr;
        t.state = status::runnable;
        t.result = wait_result::woken;
        ++woken;
        if (tracing) who += " T" + std::to_string(&t - threads.data());
    }
    if (tracing) {
        const object* o = find(at);
        const std::string name =
            o != nullptr && o->record != nullptr ? " " + name_of(*static_cast<location*>(o->record)) : "";
        record(std::string(called) + name, std::to_string(woken),
               woken == 0 ? "nobody sleeps" : "wakes" + who, where);
    }
    done(op);
    return woken;
}

/// Used by functions that ask what another thread is doing.
const model_thread& engine::look_at(unsigned thread, const site& where) {
    const operation op{kind::look, false, no_location, nullptr};
    point(op, where);
    if (tracing) record("looks at T" + std::to_string(thread), "", "", where);
    done(op);
    return threads[thread];
}

unsigned engine::start(void (*run)(void*), void* argument, const site& where) {
    if (thread_count == max_threads)
        fail("a model has at most " + std::to_string(max_threads) + " threads", where);
    const unsigned made = thread_count++;
    model_thread& t = threads[made];
    if (!t.memory) t.memory = std::make_unique<stack>(256 * 1024);
    t.where = t.memory->prepare(&engine::enter);
    t.current.clear(location_count);
    t.acquired.clear(location_count);
    t.released.clear(location_count);
    t.lit.clear(location_count);
    std::memset(t.cause, 0, sizeof t.cause);
    t.kept = t.kept_by_release = {};
    t.fenced = 0;
    if (made != 0) {
        model_thread& parent = self();
        t.current.copy(parent.current, location_count);
        keep_order();
        join_stamps(t.cause, parent.cause, max_threads);
        t.kept = parent.kept;
        ++parent.current.clock[running];
    }
    t.current.clock[made] = 1;
    t.state = status::runnable;
    t.asleep = t.restricted = t.queued = t.spinning = t.changed = t.past_end = false;
    t.since = t.repeat = 0;
    t.loads = t.spin_line = t.yields = t.operations = t.yielded_at = 0;
    t.pending = {};
    t.queue = nullptr;
    t.deadline = never;
    t.priority = static_cast<int>(randomly ? random() % 1000 + 1 : 1);
    t.run = run;
    t.argument = argument;
    t.reads.clear();
    t.at_exit.clear();
    t.locals.clear();
    t.last_site = where;
    if (tracing && made != 0) record("start T" + std::to_string(made), "", "", where);
    if (made != 0) point({}, where);
    return made;
}

void engine::join(unsigned target, const site& where) {
    model_thread& t = self();
    if (target >= thread_count || target == running) fail("join of a thread that cannot be joined", where);
    t.last_site = where;
    while (threads[target].state != status::finished) {
        t.state = status::joining;
        t.join_target = target;
        t.pending = {};
        leave();
    }
    t.current.join(threads[target].current, location_count);
    join_stamps(t.cause, threads[target].cause, max_threads);
    t.kept.join(threads[target].kept);
    t.kept.join(threads[target].kept_by_release);
    if (tracing) record("join T" + std::to_string(target), "", "", where);
}

void engine::finish_thread() {
    model_thread& t = self();
    while (!t.at_exit.empty()) {
        const auto [action, argument] = t.at_exit.back();
        t.at_exit.pop_back();
        active = true;
        action(argument);
        active = false;
    }
    t.past_end = true;
    if (tracing) record("ends", "", "", t.last_site);
    t.state = status::finished;
    for (unsigned i = 0; i < thread_count; ++i) {
        if (threads[i].state == status::joining && threads[i].join_target == running)
            threads[i].state = status::runnable;
    }
    idle = 0;
    leave();
}

void engine::enter() {
    engine& e = the_engine();
    const model_thread& t = e.self();
    e.active = true;
    [](void (*run)(void*), void* argument) noexcept { run(argument); }(t.run, t.argument);
    e.active = false;
    e.finish_thread();
}

} // namespace ekiden::check
