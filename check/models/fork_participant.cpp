// Fork-join between two participants, without a pool: a parent joins a thief, helps it, sleeps and is woken;
// a worker that sleeps is woken for what is published. Where a body waits for another call, that call is one
// that the other thread must get: a body that waits is no use of the library, but it shows a wake-up that is
// missing.
#include <check/engine/model.hpp>
#include <ekiden/fork/detail/fork_participant.hpp>
#include <ekiden/pool/detail/event_count.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <limits>

namespace fork_participant_models {

namespace {

using namespace ekiden;

/// A parent and a thief that takes one child.
class two_parties {
public:
    explicit two_parties(unsigned workers = 1) : workers_(workers) { arena_.add(thief_); }

    /// Calls `body(scope)` as the root of a tree, in this thread. Returns the participant that it worked on.
    template <class Body>
    const fork_participant& root(Body body, std::uint64_t quiet_until = 0) {
        fork_participant& participant = arena_.enter();
        {
            fork_segment segment(participant, nullptr, quiet_until);
            body(static_cast<fork_scope&>(segment.base));
        }
        fork_arena::leave(participant);
        return participant;
    }

    /// Thief: runs the one child that there will be.
    void run_one() {
        fork_child* found = nullptr;
        while ((found = thief_.find()) == nullptr) sys::yield();
        thief_.run(*found);
    }

    /// Thief: runs what there is, also of its own, until that has been done.
    template <class Step>
    void run_until(const Step& done) {
        while (!done.is_taken()) {
            if (fork_child* const found = thief_.find())
                thief_.run(*found);
            else
                sys::yield();
        }
    }

    /// Thief: a tree of its own.
    template <class Body>
    void own_root(Body body) {
        fork_segment segment(thief_, nullptr);
        body(static_cast<fork_scope&>(segment.base));
    }

    /// Thief: the first two steps of going to sleep.
    void begin_sleep() {
        sleep_.prepare_wait(0, false);
        arena_.ask_all();
    }

    /// Thief: counts as asleep until there is something, then runs it.
    void sleep_and_run_one() {
        fork_child* found = nullptr;
        for (;;) {
            begin_sleep();
            if (arena_.has_offer())
                (void)sleep_.cancel_wait(0);
            else
                (void)sleep_.commit_wait(0, nullptr);
            if ((found = thief_.find()) != nullptr) break;
        }
        thief_.run(*found);
    }

    [[nodiscard]] event_count& sleep() { return sleep_; }

private:
    const unsigned workers_;
    event_count sleep_{
        workers_,
        {[](const void* self) noexcept { return static_cast<const two_parties*>(self)->arena_.has_offer(); },
         this}};
    fork_arena arena_{sleep_};
    fork_participant thief_{arena_};
};

/// Something that one call does and another one waits for.
class step {
public:
    void take() { taken_.store(true, sys::release); }
    [[nodiscard]] bool is_taken() const { return taken_.load(sys::acquire); }
    void wait() const {
        while (!is_taken()) sys::yield();
    }
    /// As take() and wait(), but these order nothing, not even with the help of fences.
    void hint() { taken_.store(true, sys::relaxed); }
    void notice() const {
        while (!taken_.load(sys::relaxed)) sys::yield();
    }

private:
    sys::atomic<bool> taken_{false};
};

} // namespace

/// The request flag and the sizes of rings are hints: a load of one that reads too early publishes a child
/// sooner or later, so load buffering is not reported.
#define FORK_MODEL(name, ...) EKIDEN_MODEL(name, .load_buffering = false, __VA_ARGS__)

FORK_MODEL(fork_search_behind, .about = "a participant that was just added searches the older ones",
           .preemptions = 3) {
    event_count sleep{1, {[](const void*) noexcept { return false; }, nullptr}};
    fork_arena arena{sleep};
    const auto search = [&] {
        fork_participant& own = arena.enter();
        check::that(own.find() == nullptr, "no thread has published a call");
        fork_arena::leave(own);
    };
    sys::thread other(search);
    search();
    other.join();
}

FORK_MODEL(fork_parent_joins_a_thief, .about = "a stolen call's result is there, and its parent woken for it",
           .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    two_parties participants;
    sys::cell<int> calls{0};
    sys::thread thief([&] { participants.run_one(); });
    participants.root([&](fork_scope& scope) {
        step begun;
        auto [result] = parallel_invoke(
            scope, [&] { begun.wait(); },
            [&] {
                begun.take();
                calls.write(calls.read() + 1);
                return 7;
            });
        check::that(result == 7 && calls.read() == 1, "the result, and what the call did");
    });
    thief.join();
}

FORK_MODEL(fork_parent_helps_its_thief,
           .about = "a parent that sleeps is woken for what its thief forks, and runs it", .preemptions = 3,
           .spurious = 0, .weak_failures = 0, .processors = 1) {
    two_parties participants;
    sys::cell<int> calls{0};
    sys::thread thief([&] { participants.run_one(); });
    participants.root([&](fork_scope& scope) {
        step begun;
        step helped;
        parallel_invoke(
            scope, [&] { begun.wait(); },
            [&](fork_scope& inner) {
                begun.take();
                parallel_invoke(
                    inner, [&] { helped.wait(); },
                    [&] {
                        calls.write(1);
                        helped.take();
                    });
                check::that(calls.read() == 1, "what the helper did is visible");
            });
    });
    thief.join();
}

FORK_MODEL(fork_parent_takes_nothing_foreign,
           .about = "what a thief forks after the stolen call is not for its parent", .preemptions = 3,
           .spurious = 0, .weak_failures = 0) {
    two_parties participants;
    sys::thread thief([&] {
        participants.run_one();
        participants.own_root([&](fork_scope& scope) {
            parallel_invoke(
                scope, [] {},
                [] { check::that(check::current_thread() == 1, "run by the one thread that may"); });
        });
    });
    participants.root([&](fork_scope& scope) {
        step begun;
        parallel_invoke(scope, [&] { begun.wait(); }, [&] { begun.take(); });
    });
    thief.join();
}

FORK_MODEL(fork_parent_takes_nothing_older,
           .about = "what a thief forked before it stole the call is not for its parent", .preemptions = 3,
           .spurious = 0, .weak_failures = 0) {
    two_parties participants;
    step begun;
    sys::thread thief([&] {
        participants.own_root([&](fork_scope& scope) {
            parallel_invoke(
                scope, [&] { participants.run_until(begun); },
                [] { check::that(check::current_thread() == 1, "run by the one thread that may"); });
        });
    });
    participants.root(
        [&](fork_scope& scope) { parallel_invoke(scope, [&] { begun.notice(); }, [&] { begun.hint(); }); });
    thief.join();
}

FORK_MODEL(fork_guests_share_a_participant,
           .about = "a guest finds the participant as the last guest has left it", .preemptions = 3,
           .spurious = 0, .weak_failures = 0) {
    two_parties participants;
    const auto visit = [&] {
        participants.root([](fork_scope& scope) { parallel_invoke(scope, [] {}, [] {}); });
    };
    sys::thread other(visit);
    visit();
    other.join();
}

FORK_MODEL(fork_worker_is_woken, .about = "a worker that goes to sleep gets what is published meanwhile",
           .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    two_parties participants;
    sys::thread worker([&] { participants.sleep_and_run_one(); });
    participants.root([&](fork_scope& scope) {
        step begun;
        parallel_invoke(scope, [&] { begun.wait(); }, [&] { begun.take(); });
    });
    worker.join();
}

/// Forks `depth` calls, each inside of the one before, and calls `inside()` there.
template <class Inside>
void fork_nested(fork_scope& scope, int depth, Inside inside) {
    if (depth == 0) return inside();
    parallel_invoke(scope, [=](fork_scope& inner) { fork_nested(inner, depth - 1, inside); }, [] {});
}

FORK_MODEL(fork_many_children_wake_more,
           .about = "if many children wait, more than the one worker with the token is woken") {
    constexpr unsigned workers = 6;
    two_parties participants(workers);
    for (unsigned w = 0; w != workers; ++w) participants.sleep().prepare_wait(w, false);
    participants.root([&](fork_scope& scope) {
        fork_nested(scope, 4, [&] {
            check::that(participants.sleep().waiting() == workers - 2,
                        "one has the token, one was signalled");
        });
    });
}

FORK_MODEL(fork_quiet_end_wakes,
           .about = "what is published while a tree wakes nobody is told to a sleeper afterwards",
           .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    two_parties participants;
    sys::thread worker([&] { participants.sleep_and_run_one(); });
    const auto body = [](fork_scope& scope) {
        step begun;
        parallel_invoke(
            scope,
            [&](fork_scope& inner) {
                inner.offer_all();
                while (!begun.is_taken()) {
                    (void)inner.is_work_wanted(); // as a loop does between two steps
                    sys::yield();
                }
            },
            [&] { begun.take(); });
    };
    participants.root(body, sys::now_ns() + 1000);
    worker.join();
}

FORK_MODEL(fork_watcher_leaves,
           .about =
               "work that a quiet tree leaves to the watcher wakes another worker if the watcher is woken "
               "for something else",
           .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    constexpr std::uint64_t for_ever = std::numeric_limits<std::int64_t>::max();
    two_parties participants(2);
    event_count& sleep = participants.sleep();
    sleep.prepare_wait(1, false); // another worker, which sleeps
    (void)sleep.is_watched();     // requests a watcher
    auto woken = event_count::wake_up::timed_out;
    sys::thread watcher([&] {
        sleep.prepare_wait(0, false);
        woken = sleep.commit_wait(0, nullptr);
    });
    participants.root(
        [&](fork_scope& scope) {
            const auto first = [&](fork_scope& inner) {
                inner.offer_all();
                sleep.signal(0);
                watcher.join();
                check::that(woken == event_count::wake_up::notified || !sleep.is_waiting(1),
                            "a worker looks for the call");
            };
            parallel_invoke(scope, first, [] {});
        },
        for_ever);
}

FORK_MODEL(fork_request_stands,
           .about = "a participant that shares while a worker goes to sleep is asked afterwards",
           .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    two_parties participants;
    sys::thread sleeper([&] { participants.begin_sleep(); });
    const fork_participant& participant =
        participants.root([](fork_scope& scope) { parallel_invoke(scope, [] {}, [] {}); });
    sleeper.join();
    check::that(participant.asked.load(sys::relaxed) == fork_request::wanted,
                "the request of the sleeper stands");
}

EKIDEN_MODEL(fork_deque_full, .about = "a full ring takes a child again when a thief's claim has made room",
             .preemptions = 4) {
    const auto numbered = [](std::uintptr_t number) { return reinterpret_cast<fork_child*>(number * 64); };
    fork_deque ring(static_cast<std::uint64_t>(-2));
    for (std::uintptr_t i = 1; i <= fork_deque::capacity; ++i)
        check::that(ring.push(numbered(i)), "there is room");
    const fork_child* stolen[2] = {};
    sys::thread thief([&] {
        for (const fork_child*& one : stolen) one = ring.steal();
    });
    bool accepted = ring.push(numbered(fork_deque::capacity + 1));
    accepted = ring.push(numbered(fork_deque::capacity + 2)) && accepted;
    thief.join();
    check::that(stolen[0] == numbered(1) && stolen[1] == numbered(2), "the oldest come first");
    if (accepted) check::that(ring.pop() == numbered(fork_deque::capacity + 2), "what was accepted is there");
}

} // namespace fork_participant_models
