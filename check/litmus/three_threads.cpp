// Causality and agreement between three and four threads, seq_cst order, release sequences, futexes.
#include <check/litmus/litmus.hpp>

namespace three_threads_tests {

using namespace ekiden::check::litmus;
using ekiden::check::outcome;

namespace {

template <memory_order Store, memory_order Load>
void independent_reads() {
    shared s;
    run(
        s, [](shared& t) { t.x.store(1, Store); }, [](shared& t) { t.y.store(1, Store); },
        [](shared& t) {
            t.r[0] = t.x.load(Load);
            t.r[1] = t.y.load(Load);
        },
        [](shared& t) {
            t.r[2] = t.y.load(Load);
            t.r[3] = t.x.load(Load);
        });
    // Records only whether the two readers disagree: one reads 1 0, and so does the other.
    outcome({s.r[0] == 1 && s.r[1] == 0 && s.r[2] == 1 && s.r[3] == 0});
}

template <memory_order Pass, memory_order Take>
void write_to_read_causality() {
    shared s;
    run(
        s, [](shared& t) { t.x.store(1, relaxed); },
        [](shared& t) {
            t.r[0] = t.x.load(relaxed);
            t.y.store(1, Pass);
        },
        [](shared& t) {
            t.r[1] = t.y.load(Take);
            t.r[2] = t.x.load(relaxed);
        });
    outcome({s.r[0], s.r[1], s.r[2]});
}

} // namespace

LITMUS(IRIW_relaxed, "0", "1") { independent_reads<relaxed, relaxed>(); }
LITMUS(IRIW_release_acquire, "0", "1") { independent_reads<release, acquire>(); }
LITMUS(IRIW_seq_cst, "0") { independent_reads<seq_cst, seq_cst>(); }
LITMUS(IRIW_seq_cst_fences, "0") {
    shared s;
    run(
        s, [](shared& t) { t.x.store(1, relaxed); }, [](shared& t) { t.y.store(1, relaxed); },
        [](shared& t) {
            t.r[0] = t.x.load(relaxed);
            fence(seq_cst);
            t.r[1] = t.y.load(relaxed);
        },
        [](shared& t) {
            t.r[2] = t.y.load(relaxed);
            fence(seq_cst);
            t.r[3] = t.x.load(relaxed);
        });
    outcome({s.r[0] == 1 && s.r[1] == 0 && s.r[2] == 1 && s.r[3] == 0});
}

LITMUS(WRC_relaxed, "0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 0", "1 1 1") {
    write_to_read_causality<relaxed, relaxed>();
}
// Coherence: the middle thread read x = 1 before it released y, so the last thread must read x = 1, too.
LITMUS(WRC_release_acquire, "0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 1") {
    write_to_read_causality<release, acquire>();
}

// Read-to-write causality: the last two operations of a thread are a store and a load. Only seq_cst keeps
// them in order.
LITMUS(RWC_acquire, "0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 0", "1 1 1") {
    shared s;
    run(
        s, [](shared& t) { t.x.store(1, release); },
        [](shared& t) {
            t.r[0] = t.x.load(acquire);
            t.r[1] = t.y.load(acquire);
        },
        [](shared& t) {
            t.y.store(1, release);
            t.r[2] = t.x.load(acquire);
        });
    outcome({s.r[0], s.r[1], s.r[2]});
}
LITMUS(RWC_seq_cst, "0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 1", "1 1 0", "1 1 1") {
    shared s;
    run(
        s, [](shared& t) { t.x.store(1, seq_cst); },
        [](shared& t) {
            t.r[0] = t.x.load(seq_cst);
            t.r[1] = t.y.load(seq_cst);
        },
        [](shared& t) {
            t.y.store(1, seq_cst);
            t.r[2] = t.x.load(seq_cst);
        });
    outcome({s.r[0], s.r[1], s.r[2]});
}

// S: the reader has seen a store. So its own store is ordered after the writer's earlier store.
LITMUS(S_relaxed, "0 1", "0 2", "1 1", "1 2") {
    shared s;
    run(
        s,
        [](shared& t) {
            t.x.store(2, relaxed);
            t.y.store(1, relaxed);
        },
        [](shared& t) {
            t.r[0] = t.y.load(relaxed);
            t.x.store(1, relaxed);
        });
    outcome({s.r[0], s.x.load(relaxed)});
}
LITMUS(S_release_acquire, "0 1", "0 2", "1 1") {
    shared s;
    run(
        s,
        [](shared& t) {
            t.x.store(2, relaxed);
            t.y.store(1, release);
        },
        [](shared& t) {
            t.r[0] = t.y.load(acquire);
            t.x.store(1, relaxed);
        });
    outcome({s.r[0], s.x.load(relaxed)});
}

// R: two stores to y, then a load of x. With fences, it is forbidden that y ends as 2 and x is read as 0.
LITMUS(R_release, "0 1", "0 2", "1 1", "1 2") {
    shared s;
    run(
        s,
        [](shared& t) {
            t.x.store(1, relaxed);
            t.y.store(1, release);
        },
        [](shared& t) {
            t.y.store(2, release);
            t.r[0] = t.x.load(acquire);
        });
    outcome({s.r[0], s.y.load(relaxed)});
}
LITMUS(R_seq_cst_fences, "0 1", "1 1", "1 2") {
    shared s;
    run(
        s,
        [](shared& t) {
            t.x.store(1, relaxed);
            fence(seq_cst);
            t.y.store(1, relaxed);
        },
        [](shared& t) {
            t.y.store(2, relaxed);
            fence(seq_cst);
            t.r[0] = t.x.load(relaxed);
        });
    outcome({s.r[0], s.y.load(relaxed)});
}

// A read-modify-write by another thread continues a release sequence, even if it is relaxed.
LITMUS(release_sequence_of_modifications, "0 0", "0 1", "1 0", "1 1", "2 1") {
    shared s;
    run(
        s,
        [](shared& t) {
            t.x.store(1, relaxed);
            t.y.store(1, release);
        },
        [](shared& t) { (void)t.y.fetch_add(1, relaxed); },
        [](shared& t) {
            t.r[0] = t.y.load(acquire);
            t.r[1] = t.x.load(relaxed);
        });
    // y = 1 may be the release itself or an increment of 0. Only y = 2 is certain to carry x = 1.
    outcome({s.r[0], s.r[1]});
}
// A plain store of the same thread does not continue it (C++20, unlike C++11).
LITMUS(release_sequence_ends_at_a_store, "0 0", "0 1", "1 1", "2 0", "2 1") {
    shared s;
    run(
        s,
        [](shared& t) {
            t.x.store(1, relaxed);
            t.y.store(1, release);
            t.y.store(2, relaxed);
        },
        [](shared& t) {
            t.r[0] = t.y.load(acquire);
            t.r[1] = t.x.load(relaxed);
        });
    outcome({s.r[0], s.r[1]});
}

LITMUS(modifications_are_atomic, "0 1 2", "1 0 2") {
    shared s;
    run(
        s, [](shared& t) { t.r[0] = t.x.fetch_add(1, relaxed); },
        [](shared& t) { t.r[1] = t.x.fetch_add(1, relaxed); });
    outcome({s.r[0], s.r[1], s.x.load(relaxed)});
}
// One of two threads wins a relaxed compare_exchange. The loser sees the winner's value.
LITMUS(compare_exchange_has_one_winner, "0 1 1", "2 0 2") {
    shared s;
    const auto attempt = [](int value, std::size_t slot) {
        return [=](shared& t) {
            int expected = 0;
            t.x.compare_exchange_strong(expected, value, relaxed);
            t.r[slot] = expected;
        };
    };
    run(s, attempt(1, 0), attempt(2, 1));
    outcome({s.r[0], s.r[1], s.x.load(relaxed)});
}
LITMUS(weak_compare_exchange_may_fail_without_cause, "0 0", "1 1") {
    shared s;
    run(s, [](shared& t) {
        int expected = 0;
        t.r[0] = t.x.compare_exchange_weak(expected, 1, relaxed) ? 1 : 0;
    });
    outcome({s.r[0], s.x.load(relaxed)});
}

// C++20 also allows "1 1 0": relaxed accesses pass y on without ordering the seq_cst loads. In the checker,
// the order of seq_cst operations is the order of execution, and reads-from agrees with it (see
// check/README.md).
LITMUS(seq_cst_order_against_relaxed_not_modelled, "0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1",
       "1 1 1") {
    shared s;
    run(
        s, [](shared& t) { t.x.store(1, relaxed); },
        [](shared& t) {
            t.r[0] = t.x.load(seq_cst);
            t.y.store(1, relaxed);
        },
        [](shared& t) {
            t.r[1] = t.y.load(relaxed);
            t.r[2] = t.x.load(seq_cst);
        });
    outcome({s.r[0], s.r[1], s.r[2]});
}

// Dekker's entry protocol with read-modify-writes of one location in between. acq_rel is enough, because
// these operations are ordered.
LITMUS(SB_through_one_location, "0 1", "1 0", "1 1") {
    shared s;
    run(
        s,
        [](shared& t) {
            t.x.store(1, relaxed);
            (void)t.z.fetch_add(1, acq_rel);
            t.r[0] = t.y.load(relaxed);
        },
        [](shared& t) {
            t.y.store(1, relaxed);
            (void)t.z.fetch_add(1, acq_rel);
            t.r[1] = t.x.load(relaxed);
        });
    outcome({s.r[0], s.r[1]});
}

// The light fence of one thread orders with the heavy fences of two others.
LITMUS(light_against_two_heavy, "0 0") {
    shared s;
    run(
        s,
        [](shared& t) {
            t.x.store(1, relaxed);
            fence_light();
            t.r[0] = t.y.load(relaxed);
            t.r[1] = t.z.load(relaxed);
        },
        [](shared& t) {
            t.y.store(1, relaxed);
            fence_heavy();
            t.r[2] = t.x.load(relaxed);
        },
        [](shared& t) {
            t.z.store(1, relaxed);
            fence_heavy();
            t.r[3] = t.x.load(relaxed);
        });
    // Records whether the light side and a heavy side missed each other.
    outcome({s.r[0] == 0 && s.r[2] == 0, s.r[1] == 0 && s.r[3] == 0});
}

} // namespace three_threads_tests
