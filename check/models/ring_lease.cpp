// ring_lease under injection_ring: holder, thieves and the next holder share a producer's tasks in the order
// of the pushes; slots are reused under their hands; indices wrap around.
#include <check/engine/model.hpp>
#include <ekiden/queue/injection_queue.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <span>
#include <vector>

namespace {

using namespace ekiden;

/// A task that is only queued.
struct item : task {
    item() : task(&answer) {}
    static const char* answer(task*, task_request) { return nullptr; }

    sys::cell<int> content{0};
    int number = 0;
};

/// One ring and its consumers.
template <std::size_t Count, std::size_t Consumers>
struct leased_ring {
    // The second element's index is 0.
    explicit leased_ring(std::size_t capacity) : ring(capacity, ~std::uint64_t{0}) {}

    injection_ring ring;
    std::array<ring_lease, Consumers> leases{};
    std::array<item, Count> items{};
    struct entry {
        std::size_t consumer;
        int number;
    };
    std::vector<entry> taken; // in the order of the returns; only the checker's one real thread runs
    std::size_t pushed = 0;

    void push(std::size_t count = 1) {
        for (; count != 0; --count, ++pushed) {
            items[pushed].number = static_cast<int>(pushed);
            items[pushed].content.write(1);
            ring.push(&items[pushed]);
        }
    }

    bool use(std::size_t me, task* got) {
        if (got == nullptr) return false;
        auto* const one = static_cast<item*>(got);
        check::that(one->content.read() == 1, "the content was published with the task, which is taken once");
        one->content.write(0);
        taken.push_back({me, one->number});
        return true;
    }
    bool own(std::size_t me) { return use(me, leases[me].take()); }
    bool lease(std::size_t me) { return use(me, ring.take_and_lease(leases, me)); }
    bool steal(std::size_t me) { return use(me, ring.steal(leases, me)); }
    /// As a worker does it.
    bool take(std::size_t me) { return own(me) || lease(me) || steal(me); }

    /// Consumer 0 takes what is left. All were taken once; and one that was taken later than a younger one
    /// was the next that its consumer took.
    void finish() {
        while (take(0)) {
        }
        check::that(!ring.maybe_filled(leases), "nothing is in sight");
        check::that(taken.size() == pushed, "each task is taken exactly once");
        for (std::size_t p = 0; p < taken.size(); ++p) {
            for (std::size_t q = p + 1; q < taken.size(); ++q) {
                if (taken[q].number > taken[p].number) continue;
                for (std::size_t between = p; between < q; ++between)
                    check::that(taken[between].consumer != taken[q].consumer,
                                "a task is taken only after all that were posted before it");
            }
        }
    }
};

} // namespace

EKIDEN_MODEL(lease_holder_against_thief, .about = "holder and thief share three leased tasks",
             .preemptions = 4) {
    leased_ring<4, 2> r(4);
    r.push(4);
    r.lease(0);
    sys::thread thief([&] {
        r.steal(1);
        r.steal(1);
    });
    r.own(0);
    r.own(0);
    r.own(0);
    thief.join();
    r.finish();
}

EKIDEN_MODEL(lease_last_task, .about = "holder and thief want the only leased task", .preemptions = 6) {
    leased_ring<2, 2> r(2);
    r.push(2);
    r.lease(0);
    sys::thread thief([&] { r.steal(1); });
    r.own(0);
    thief.join();
    r.finish();
}

EKIDEN_MODEL(lease_two_thieves, .about = "two thieves end the holder's time alone", .preemptions = 3) {
    leased_ring<3, 3> r(4);
    r.push(3);
    r.lease(0);
    sys::thread first([&] { r.steal(1); });
    sys::thread second([&] { r.steal(2); });
    r.own(0);
    first.join();
    second.join();
    r.finish();
}

EKIDEN_MODEL(lease_next_while_thief_is_late,
             .about = "the holder has the next lease while a thief is at the last one", .preemptions = 4) {
    leased_ring<5, 2> r(4);
    r.push(2);
    r.lease(0);
    r.push(3);
    sys::thread thief([&] {
        r.steal(1);
        r.steal(1);
    });
    for (int i = 0; i < 3; ++i) r.take(0);
    thief.join();
    r.finish();
}

EKIDEN_MODEL(lease_changes_hands,
             .about = "another consumer leases as soon as the last lease is used up, not before",
             .preemptions = 3) {
    leased_ring<4, 3> r(4);
    r.push(2);
    r.lease(0);
    r.push(2);
    sys::thread thief([&] { r.steal(1); });
    sys::thread next([&] {
        r.lease(2);
        r.own(2);
    });
    r.own(0);
    thief.join();
    next.join();
    r.finish();
}

EKIDEN_MODEL(lease_slots_are_reused, .about = "the producer goes on while the tasks are taken",
             .preemptions = 3) {
    leased_ring<5, 2> r(2);
    r.push(2);
    r.lease(0);
    sys::thread thief([&] {
        r.take(1);
        r.take(1);
    });
    sys::thread producer([&] { r.push(3); });
    r.own(0);
    r.take(0);
    thief.join();
    producer.join();
    r.finish();
}

EKIDEN_MODEL(lease_ends_when_it_is_settled,
             .about = "the holder has claimed the last task, a thief asks: the slot is not reused yet",
             .preemptions = 3) {
    leased_ring<4, 3> r(2);
    r.push(2);
    r.lease(0);
    r.push();
    sys::thread holder([&] { r.own(0); });
    sys::thread thief([&] { r.steal(1); });
    r.lease(2);
    r.push(); // into the slot of the leased task, if that counts as taken
    thief.join();
    holder.join();
    r.finish();
}

EKIDEN_MODEL(lease_two_rings, .about = "a consumer's next lease is of another ring, and has the same end",
             .preemptions = 4) {
    leased_ring<2, 2> r(2);
    injection_ring other(2, ~std::uint64_t{0}, 1);
    item elsewhere[2];
    int found = 0;
    for (item& one : elsewhere) {
        one.content.write(1);
        other.push(&one);
    }
    r.push(2);
    r.lease(0);
    sys::thread thief([&] { r.steal(1); });
    const auto use = [&](task* got) {
        if (got != nullptr) ++found;
        return got != nullptr;
    };
    while (r.own(0)) {
    }
    use(other.take_and_lease(r.leases, 0));
    use(r.leases[0].take());
    thief.join();
    check::that(found == 2, "the thief has nothing to do with the other ring");
    r.finish();
}

EKIDEN_MODEL(lease_ends_at_another_ring,
             .about =
                 "what a holder did before its last take is seen by who takes next, also when the holder has "
                 "the next lease elsewhere",
             .preemptions = 3) {
    leased_ring<3, 2> r(4);
    injection_ring other(2, ~std::uint64_t{0}, 1);
    item elsewhere[2];
    sys::cell<int> note{0};
    for (item& one : elsewhere) other.push(&one);
    r.push(2);
    r.lease(0);
    r.push();
    sys::thread next([&] {
        if (r.lease(1)) check::that(note.read() == 1, "it was written before the task before was taken");
    });
    note.write(1);
    const bool has_last = r.own(0);
    check::that(has_last, "nobody else wants it");
    check::that(other.take_and_lease(r.leases, 0) != nullptr, "one");
    check::that(r.leases[0].take() != nullptr, "and the other");
    next.join();
    r.finish();
}

EKIDEN_MODEL(lease_in_sight, .about = "a leased task is in sight until it is taken", .preemptions = 4) {
    leased_ring<3, 2> r(4);
    sys::atomic<bool> is_taken{false};
    r.push(3);
    sys::thread holder([&] {
        r.lease(0);
        is_taken.store(true, sys::release);
    });
    if (is_taken.load(sys::acquire)) {
        check::that(r.ring.maybe_filled(r.leases), "two are left");
        check::that(r.steal(1), "one of them can be stolen");
    } else {
        check::that(r.ring.maybe_filled(r.leases), "at least two are left");
    }
    holder.join();
    r.finish();
}

EKIDEN_MODEL(lease_is_seen_whole, .about = "a thread that sees a lease in the ring finds its tasks",
             .preemptions = 4) {
    leased_ring<3, 2> r(4);
    r.push(3);
    sys::thread holder([&] { r.lease(0); });
    if (check::choose(2) == 0) {
        const injection_ring::sight seen = r.ring.look(r.leases, 1);
        check::that(!seen.is_anothers || seen.left == 2, "two are left");
    } else if (!r.ring.maybe_unleased()) {
        check::that(r.steal(1), "one of them can be stolen");
    }
    holder.join();
    r.finish();
}

EKIDEN_MODEL(lease_takes_follow_each_other,
             .about = "what was done before a take is seen after each later take", .preemptions = 4) {
    leased_ring<3, 2> r(4);
    sys::cell<int> note{0};
    r.push(3);
    r.lease(0);
    sys::thread thief([&] {
        note.write(1);
        r.steal(1);
    });
    r.own(0);
    const bool has_second = !r.taken.empty() && r.taken.back().consumer == 0 && r.taken.back().number == 2;
    if (has_second) check::that(note.read() == 1, "the thief took the first, after its note");
    thief.join();
    r.finish();
}
