// state_lock: entering, leaving, delegation, hand-over, group release, waits that end early or are not a
// thread's. sync/detail/state_lock.md says what is claimed.
#include <check/engine/model.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>

namespace state_lock_models {

namespace {

using namespace ekiden;

constexpr state_lock::mask bit(unsigned state) { return state_lock::mask{1} << state; }

constexpr state_value to(unsigned state) { return {state, 0}; }

/// Adds one inside the lock.
void count_inside(state_lock& lock, sys::cell<int>& count) {
    lock.enter(bit(0));
    count.write(count.read() + 1);
    lock.exit(0);
}

} // namespace

EKIDEN_MODEL(state_lock_exclusion,
             .about = "one thread inside at a time, overtaking allowed, no wake-up lost", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    state_lock lock;
    sys::cell<int> count{0};
    sys::thread second([&] { count_inside(lock, count); });
    sys::thread third([&] { count_inside(lock, count); });
    count_inside(lock, count);
    second.join();
    third.join();
    check::that(count.read() == 3, "all have been inside");
}

EKIDEN_MODEL(state_lock_two, .about = "two threads, with spurious wake-ups and failures", .preemptions = 4) {
    state_lock lock;
    sys::cell<int> count{0};
    sys::thread second([&] { count_inside(lock, count); });
    count_inside(lock, count);
    second.join();
    check::that(count.read() == 2, "both have been inside");
}

EKIDEN_MODEL(state_lock_strict, .about = "the same with strict hand-over", .preemptions = 3, .spurious = 0,
             .weak_failures = 0) {
    state_lock lock({}, state_lock::strict);
    sys::cell<int> count{0};
    sys::thread second([&] { count_inside(lock, count); });
    sys::thread third([&] { count_inside(lock, count); });
    count_inside(lock, count);
    second.join();
    third.join();
    check::that(count.read() == 3, "all have been inside");
}

EKIDEN_MODEL(state_lock_turns, .about = "threads that wait for different states take turns", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    state_lock lock;
    sys::cell<int> count{0};
    const auto turn = [&](unsigned mine, unsigned next) {
        lock.enter(bit(mine));
        check::that(count.read() == static_cast<int>(mine), "in turn");
        count.write(count.read() + 1);
        lock.exit(next);
    };
    lock.enter(bit(0));
    sys::thread second([&] { turn(1, 2); });
    sys::thread third([&] { turn(2, 3); });
    count.write(1);
    lock.exit(1);
    second.join();
    third.join();
    check::that(count.read() == 3, "all had their turn");
}

EKIDEN_MODEL(state_lock_delegation,
             .about = "a buffer of one item: the releaser runs the waiters' transitions", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    state_lock lock;
    sys::cell<int> item{0};
    const auto put = [&](int x) {
        lock.run(bit(0), [&](state_value) noexcept {
            item.write(x);
            return to(1);
        });
    };
    const auto get = [&] {
        int x = 0;
        lock.run(bit(1), [&](state_value) noexcept {
            x = item.read();
            item.write(0);
            return to(0);
        });
        return x;
    };
    sys::thread first([&] { put(1); });
    sys::thread second([&] { put(2); });
    const int sum = get() + get();
    first.join();
    second.join();
    check::that(sum == 3, "each item once");
}

EKIDEN_MODEL(state_lock_pure, .about = "transitions in one step against one that is inside") {
    state_lock lock;
    sys::cell<int> guarded{0};
    const auto flip = [&](unsigned from) {
        lock.apply(bit(from), [from](state_value) noexcept { return to(1 - from); });
    };
    sys::thread second([&] {
        lock.enter(bit(1));
        guarded.write(guarded.read() + 1);
        lock.exit(1);
        flip(1);
    });
    guarded.write(1);
    flip(0);
    lock.enter(bit(0)); // after the other's flip
    check::that(guarded.read() == 2, "what was done inside is seen");
    lock.exit(0);
    second.join();
}

EKIDEN_MODEL(state_lock_pure_sees,
             .about = "a pure transition may read what was done before the state that lets it begin",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    state_lock lock;
    sys::cell<int> first{0};
    sys::cell<int> second{0};
    const auto step = [&](unsigned from, const sys::cell<int>* before) {
        lock.apply(bit(from), [=](state_value now) noexcept {
            if (before != nullptr) check::that(before->read() == 1, "what was done before is seen");
            return state_value{from + 1, now.payload};
        });
    };
    sys::thread a([&] {
        first.write(1);
        step(0, nullptr);
    });
    sys::thread b([&] {
        second.write(1);
        step(1, &first);
    });
    lock.apply(state_lock::any_state,
               [](state_value now) noexcept { return state_value{now.state, now.payload + 1}; });
    step(2, &second);
    a.join();
    b.join();
}

EKIDEN_MODEL(
    state_lock_pure_repeats,
    .about = "a pure transition that runs again sees what was done before the value that it is given") {
    state_lock lock;
    sys::cell<int> message{0};
    sys::thread writer([&] {
        message.write(1);
        lock.apply(bit(0), [](state_value now) noexcept { return state_value{1, now.payload}; });
    });
    lock.apply(state_lock::any_state, [&](state_value now) noexcept {
        if (now.state == 1) check::that(message.read() == 1, "what was done before is seen");
        return state_value{now.state, now.payload + 1};
    });
    writer.join();
}

EKIDEN_MODEL(state_lock_group, .about = "all that wait to pass a state are released together, twice",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    state_lock lock;
    sys::cell<int> message{0};
    const auto pass = [&] {
        lock.pass(bit(1));
        check::that(message.read() == 1, "what was done before the release is seen");
    };
    sys::thread second(pass);
    sys::thread third(pass);
    message.write(1);
    lock.apply(bit(0), [](state_value) noexcept { return to(1); });
    second.join();
    third.join();
}

EKIDEN_MODEL(state_lock_group_beside_another,
             .about = "a group is released while a thread that waits for longer sleeps on the same word",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    state_lock lock;
    sys::thread first([&] { lock.pass(bit(1) | bit(2)); });
    sys::thread second([&] { lock.pass(bit(2)); });
    lock.apply(bit(0), [](state_value) noexcept { return to(1); });
    first.join();
    lock.apply(bit(1), [](state_value) noexcept { return to(2); });
    second.join();
}

// Three threads that retry and a clock are too many paths for bound 3: state_lock_timeout_inside and
// state_lock_woken_gives_up, of two threads, go that far.
EKIDEN_MODEL(state_lock_timeout, .about = "a wait that gives up passes on the wake-up that it swallowed",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    // Nobody is handed the lock: each waiter is woken and tries again.
    static constexpr state_rules rules{.hand_over_after = std::chrono::hours(1)};
    state_lock lock({}, rules);
    lock.enter(bit(0));
    sys::thread timed([&] {
        if (lock.enter(bit(0), wait_limit::after(std::chrono::milliseconds(1)))) lock.exit(0);
    });
    sys::thread patient([&] {
        lock.enter(bit(0));
        lock.exit(0);
    });
    lock.exit(0);
    timed.join();
    patient.join();
    check::that(lock.passes(bit(0)), "nobody is left inside");
}

EKIDEN_MODEL(state_lock_timeout_inside,
             .about = "a woken waiter gives up while the thread that overtook it is inside",
             .preemptions = 3) {
    static constexpr state_rules rules{.hand_over_after = std::chrono::hours(1)};
    state_lock lock({}, rules);
    sys::cell<int> count{0};
    lock.enter(bit(0));
    sys::thread timed([&] {
        if (!lock.enter(bit(0), wait_limit::after(std::chrono::milliseconds(1)))) return;
        count.write(count.read() + 1);
        lock.exit(0);
    });
    lock.exit(0);
    count_inside(lock, count);
    timed.join();
    check::that(count.read() >= 1 && lock.passes(bit(0)), "nobody is left inside");
}

EKIDEN_MODEL(state_lock_canceled, .about = "a canceled wait leaves no trace in the queue", .preemptions = 3) {
    state_lock lock;
    sys::thread timed([&] {
        const bool came = lock.enter(bit(2), wait_limit::after(std::chrono::milliseconds(1)));
        check::that(!came, "the state never comes");
    });
    lock.enter(bit(0));
    lock.exit(1);
    lock.apply(bit(1), [](state_value) noexcept { return to(0); });
    timed.join();
    lock.enter(bit(0));
    lock.exit(0); // or the destructor finds a trace
}

namespace {

/// A wait that is not a thread's: what a coroutine's awaiter does, with a flag for the executor's queue.
struct async_wait {
    async_waiter room;
    sys::atomic<int> resumed{0};

    void prepare(state_lock::mask states) {
        room->mask = states;
        room->context = this;
        room->resume = [](waiter& w) noexcept {
            static_cast<async_wait*>(w.context)->resumed.store(1, sys::release);
        };
    }
};

} // namespace

EKIDEN_MODEL(state_lock_settles,
             .about = "who leaves finds the state right although the last waiter has given up meanwhile") {
    // State 1 instead of 0: a thread waits for state 2.
    static const state_rules rules{
        .settle = [](state_value value, std::uint64_t queued) noexcept -> std::uint32_t {
            return value.state < 2 ? ((queued & bit(2)) != 0 ? 1 : 0) : value.state;
        },
        .close = [](state_value, std::uint64_t) noexcept -> std::uint32_t { return 1; }};
    state_lock lock({}, rules);
    async_wait wait;
    wait.prepare(bit(2));
    check::that(!lock.start(*wait.room), "the state is not there");
    lock.enter(bit(1));
    check::that(lock.cancel(*wait.room), "nobody has served it");
    lock.exit(1);
    check::that(lock.try_enter(bit(0)), "nobody waits any more");
    lock.exit(0);
}

EKIDEN_MODEL(state_lock_async, .about = "a waiter that is not a thread gets the lock, or is taken back",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    state_lock lock;
    sys::cell<int> count{0};
    async_wait wait;
    wait.prepare(bit(0));
    sys::thread other([&] { count_inside(lock, count); });
    sys::thread third([&] { count_inside(lock, count); });
    if (lock.start(*wait.room)) {
        count.write(count.read() + 1);
        lock.exit(0);
    } else if (!lock.cancel(*wait.room)) {
        while (wait.resumed.load(sys::acquire) == 0) sys::yield();
        count.write(count.read() + 1);
        lock.exit(0);
    }
    other.join();
    third.join();
    check::that(count.read() == 2 || count.read() == 3, "the threads were inside, the other perhaps");
    check::that(lock.try_enter(bit(0)), "nobody is left inside");
    lock.exit(0);
}

EKIDEN_MODEL(state_lock_withdraw_early,
             .about = "a waiter is taken back by another thread while it is still on its way in") {
    state_lock lock;
    lock.enter(bit(0));
    async_wait wait;
    wait.prepare(bit(0));
    sys::thread canceller([&] {
        for (;;) {
            const withdrawal result = lock.withdraw(*wait.room);
            if (result == withdrawal::taken_out) return;
            check::that(result == withdrawal::not_there, "nobody serves it");
            sys::yield();
        }
    });
    check::that(!lock.start(*wait.room), "somebody is inside");
    canceller.join();
    lock.exit(0);
    check::that(wait.resumed.load(sys::relaxed) == 0, "it is not resumed");
    check::that(lock.try_enter(bit(0)), "it is not inside");
    lock.exit(0);
}

EKIDEN_MODEL(state_lock_free_again,
             .about = "the step that ends a wait acquires, though the word has been the same before") {
    state_lock lock;
    sys::cell<int> count{0};
    lock.enter(bit(0));
    sys::thread other([&] {
        lock.run(bit(0), [&](state_value) noexcept {
            count.write(count.read() + 1);
            return to(0);
        });
    });
    count.write(1);
    lock.exit(0);
    count_inside(lock, count); // the word is then as it was after the first exit
    other.join();
    check::that(count.read() == 3, "all have been inside");
}

EKIDEN_MODEL(state_lock_pure_again, .about = "the same with a section that begins by a pure transition") {
    state_lock lock;
    sys::cell<int> count{0};
    lock.enter(bit(0));
    sys::thread other([&] {
        lock.apply(bit(0), [](state_value) noexcept { return to(1); });
        count.write(count.read() + 1);
        lock.apply(bit(1), [](state_value) noexcept { return to(0); });
    });
    count.write(1);
    lock.exit(0);
    count_inside(lock, count);
    other.join();
    check::that(count.read() == 3, "all have been inside");
}

EKIDEN_MODEL(state_lock_async_pure, .about = "a pure transition that is not a thread's reads, too") {
    state_lock lock;
    sys::cell<int> message{0};
    sys::thread writer([&] {
        message.write(1);
        lock.apply(bit(0), [](state_value) noexcept { return to(1); });
    });
    async_wait wait;
    wait.prepare(bit(1));
    struct reader {
        async_wait& wait;
        sys::cell<int>& message;
    } reads{wait, message};
    wait.room->context = &reads;
    wait.room->pure = true;
    wait.room->transition = [](void* context, state_value now) noexcept {
        check::that(static_cast<reader*>(context)->message.read() == 1, "what was done before is seen");
        return now;
    };
    wait.room->resume = [](waiter& w) noexcept {
        static_cast<reader*>(w.context)->wait.resumed.store(1, sys::release);
    };
    if (!lock.start(*wait.room)) {
        while (wait.resumed.load(sys::acquire) == 0) sys::yield();
    }
    writer.join();
}

EKIDEN_MODEL(state_lock_woken_gives_up,
             .about = "a woken waiter that gives up serves those whom others have left to it",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    state_lock lock;
    async_wait patient;
    patient.prepare(bit(1));
    lock.enter(bit(0));
    check::that(!lock.start(*patient.room), "the state is another");
    sys::thread timed([&] {
        if (lock.enter(bit(0), wait_limit::after(std::chrono::milliseconds(1)))) lock.exit(0);
    });
    lock.exit(0);
    // If the timed waiter's wake-up is on its way, this step leaves the queue to it.
    lock.apply(bit(0), [](state_value) noexcept { return to(1); });
    timed.join();
    check::that(patient.resumed.load(sys::acquire) == 1, "the patient one is inside");
    lock.exit(1);
}

} // namespace state_lock_models
