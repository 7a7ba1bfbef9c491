/// A litmus test: threads over two or three shared integers, and the set of all outcomes that C++20 allows.
///
/// Part: check. Each test lists every allowed outcome that the checker claims to model. The driver compares
/// this list with the outcomes that occurred. So both a missing outcome and a forbidden outcome fail the
/// test.
#pragma once

#include <check/engine/model.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <utility>

namespace ekiden::check::litmus {

using namespace ekiden::sys;

struct shared {
    atomic<int> x{0};
    atomic<int> y{0};
    atomic<int> z{0};
    std::array<int, 6> r{-1, -1, -1, -1, -1, -1}; // one thread writes each; they are read after the joins
};

template <class Body>
void start(shared& s, Body body, thread& t) {
    t = thread([&s, body] { body(s); });
}

/// Runs each body in its own thread and joins the threads.
template <class... Bodies>
void run(shared& s, Bodies... bodies) {
    std::array<thread, sizeof...(Bodies)> threads;
    std::size_t next = 0;
    (start(s, bodies, threads[next++]), ...);
    for (thread& t : threads) t.join();
}

} // namespace ekiden::check::litmus

/// LITMUS(name, "each", "allowed", "outcome") { body of thread 0 }
#define LITMUS(name, ...)                                                                                    \
    EKIDEN_MODEL(name, .load_buffering = false, .preemptions = 9, .outcomes = {__VA_ARGS__})
