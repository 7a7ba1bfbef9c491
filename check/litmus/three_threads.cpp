// Causality and agreement between three and four threads, seq_cst order, release sequences, futexes.
#include <check/litmus/litmus.hpp>

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
    // Only whether the two readers disagree: 1 0 and 1 0.
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
// Coherence: the middle thread read x = 1 before it released y, so the last thread must, too.
LITMUS(WRC_release_acquire, "0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 1") {
    write_to_read_causality<release, acquire>();
}

// Read-to-write causality: the last two lines of a thread are a store and a load, which only seq_cst keeps in
// order.
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

// S: a store that was seen orders the reader's own store after the writer's earlier one.
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

// R: two stores to y, then a load of x; forbidden with fences: y's last value 2 and x still 0.
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

// A read-modify-write by another thread continues a release sequence, even a relaxed one.
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
    // y = 1 is the release itself or the increment of 0; only 2 is known to carry x = 1.
    outcome({s.r[0], s.r[1]});
}
// A plain store of the same thread does not (C++20, unlike C++11).
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
// One of two threads wins a relaxed compare_exchange; the loser sees the winner's value.
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

// C++20 also allows "1 1 0": relaxed accesses pass y on without ordering the seq_cst loads. The checker's
// seq_cst order is the order of execution, which reads-from agrees with (see check/README.md).
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

// Dekker's entry with read-modify-writes of one location in between: acq_rel suffices, since these are
// ordered.
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

// The light fence of one thread orders against the heavy fences of two others.
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
    // Whether the light side and a heavy side missed each other.
    outcome({s.r[0] == 0 && s.r[2] == 0, s.r[1] == 0 && s.r[3] == 0});
}
