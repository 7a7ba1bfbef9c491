// Fork-join: each forked call runs exactly once and its result arrives, whoever runs it; a sleeping worker
// and a sleeping parent are woken for what is published; a waiting parent takes only what was forked inside
// of its child.
#include <check/engine/model.hpp>
#include <ekiden/fork/detail/fork_participant.hpp>
#include <ekiden/pool/detail/event_count.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>

namespace fork_join_models {

namespace {

using namespace ekiden;

/// Elements for a ring that nobody looks into.
fork_child* numbered(std::uintptr_t number) { return reinterpret_cast<fork_child*>(number * 64); }

/// A guest and a worker that do with participants what pool/detail/worker.cpp and fork/detail/fork_join.cpp
/// do.
class pair_of_parties {
public:
    pair_of_parties() { arena.add(worker_participant_); }

    /// Calls `body(scope)` as the root of a tree, in this thread. Ends the worker afterwards.
    template <class Body>
    void root(Body body) {
        fork_participant& participant = arena.enter();
        {
            fork_segment segment(participant, nullptr);
            body(static_cast<fork_scope&>(segment.base));
        }
        fork_arena::leave(participant);
        ended_.store(true, sys::seq_cst);
        sleep.signal_all();
    }

    void work() {
        bool has_token = false;
        for (;;) {
            fork_child* found = look();
            if (found == nullptr && !has_token && !ends()) {
                has_token = sleep.try_begin_search();
                if (has_token) found = look();
            }
            if (has_token && (found != nullptr || ends())) {
                has_token = false;
                sleep.end_search();
            }
            if (found != nullptr)
                worker_participant_.run(*found);
            else if (ends())
                return;
            else
                has_token = park(has_token);
        }
    }

    event_count sleep{1,
                      {[](const void* self) noexcept {
                           return static_cast<const pair_of_parties*>(self)->arena.has_offer();
                       },
                       this}};
    fork_arena arena{sleep};

private:
    [[nodiscard]] bool ends() const { return ended_.load(sys::relaxed); }

    fork_child* look() {
        fork_child* const found = worker_participant_.find();
        if (found == nullptr) arena.ask_all();
        return found;
    }

    bool park(bool has_token) {
        sleep.prepare_wait(0, has_token);
        arena.ask_all();
        const bool work_came = arena.has_offer();
        const event_count::wake_up woken =
            work_came || ends() ? sleep.cancel_wait(0) : sleep.commit_wait(0, nullptr);
        return woken == event_count::wake_up::notified || (work_came && sleep.try_begin_search());
    }

    fork_participant worker_participant_{arena};
    sys::atomic<bool> ended_{false};
};

} // namespace

EKIDEN_MODEL(fork_deque_last_one, .about = "owner and thief: the last child goes to one of them",
             .preemptions = 4) {
    fork_deque ring(static_cast<std::uint64_t>(-1));
    sys::cell<int> content{0};
    content.write(1);
    (void)ring.push(numbered(1));
    const fork_child* stolen = nullptr;
    sys::thread thief([&] {
        stolen = ring.steal();
        if (stolen != nullptr) check::that(content.read() == 1, "a thief sees what was pushed");
    });
    const fork_child* const taken = ring.pop();
    thief.join();
    check::that((stolen != nullptr) != (taken != nullptr), "one of them has it");
}

EKIDEN_MODEL(fork_deque_two_thieves, .about = "two children, two thieves and the owner: each once",
             .preemptions = 3) {
    fork_deque ring;
    (void)ring.push(numbered(1));
    (void)ring.push(numbered(2));
    const fork_child* taken[3] = {};
    sys::thread first([&] { taken[0] = ring.steal(); });
    sys::thread second([&] { taken[1] = ring.steal(); });
    taken[2] = ring.pop();
    first.join();
    second.join();
    const fork_child* const left = ring.pop();
    std::uintptr_t sum = reinterpret_cast<std::uintptr_t>(left);
    for (const fork_child* child : taken) sum += reinterpret_cast<std::uintptr_t>(child);
    check::that(sum == 3 * 64, "each of the two came out once");
}

EKIDEN_MODEL(fork_deque_refill, .about = "a child that was taken back makes room for another one",
             .preemptions = 4) {
    fork_deque ring;
    (void)ring.push(numbered(1));
    const fork_child* stolen = nullptr;
    sys::thread thief([&] { stolen = ring.steal(); });
    const fork_child* const first = ring.pop();
    (void)ring.push(numbered(2));
    const fork_child* const second = ring.pop();
    thief.join();
    std::uintptr_t sum = 0;
    for (const fork_child* child : {stolen, first, second}) sum += reinterpret_cast<std::uintptr_t>(child);
    check::that(sum == 3 * 64, "each of the two came out once");
}

EKIDEN_MODEL(fork_deque_push_against_steal,
             .about = "a thief takes what is being pushed and taken back, whole", .preemptions = 4) {
    fork_deque ring(static_cast<std::uint64_t>(-1));
    sys::cell<int> content[3] = {};
    const auto use = [&](const fork_child* got) {
        if (got == nullptr) return;
        const auto number = reinterpret_cast<std::uintptr_t>(got) / 64;
        check::that(number == 1 || number == 2, "what was pushed");
        check::that(content[number].read() == 1, "each once, with its content");
        content[number].write(0);
    };
    sys::thread thief([&] {
        use(ring.steal());
        use(ring.steal());
    });
    for (std::uintptr_t i = 1; i != 3; ++i) {
        content[i].write(1);
        (void)ring.push(numbered(i));
    }
    use(ring.pop());
    use(ring.pop());
    thief.join();
    check::that(content[1].read() + content[2].read() == 0, "both came out");
}

EKIDEN_MODEL(fork_deque_inside_only,
             .about = "a waiting parent takes nothing that its thief has forked for others",
             .preemptions = 4) {
    fork_deque ring;
    sys::atomic<bool> done{false};
    const std::uint64_t first_own = ring.next_index();
    const fork_child* stolen = nullptr;
    sys::thread parent([&] {
        stolen = ring.steal_if([&](std::uint64_t index) {
            return fork_deque::is_from(index, first_own) && !done.load(sys::acquire);
        });
    });
    (void)ring.push(numbered(1)); // forked inside of the child
    (void)ring.pop();
    done.store(true, sys::release);
    (void)ring.push(numbered(2)); // for something else
    parent.join();
    check::that(stolen != numbered(2), "not what came after the child's end");
}

// `asked` and the count of sleepers are hints: what such a load reads too early only publishes a child sooner
// or later.
EKIDEN_MODEL(fork_join_result, .load_buffering = false,
             .about = "a guest forks, a worker looks for work: one runs the call, the result arrives",
             .preemptions = 1, .spurious = 0) {
    pair_of_parties participants;
    sys::thread worker([&] { participants.work(); });
    sys::cell<int> calls{0};
    participants.root([&](fork_scope& scope) {
        auto [a, b] = parallel_invoke(
            scope, [] { return 1; },
            [&] {
                calls.write(calls.read() + 1);
                return 2;
            });
        check::that(a == 1 && b == 2, "the results");
        check::that(calls.read() == 1, "called once, and visible");
    });
    worker.join();
}

} // namespace fork_join_models
