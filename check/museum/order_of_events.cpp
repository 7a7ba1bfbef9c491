// Each step is correct, but their order is wrong. These bugs do not need weak memory.
#include <check/museum/exhibit.hpp>

#include <array>

namespace order_of_events_exhibits {

using namespace ekiden::sys;
namespace check = ekiden::check;

// A free list that compares only the head. Meanwhile the node was freed again, with another successor.
EXHIBIT(treiber_aba, "https://en.wikipedia.org/wiki/ABA_problem") {
    atomic<std::uint32_t> top{1};                          // index; the repaired version has a tag above it
    std::array<atomic<std::uint32_t>, 3> next{0U, 2U, 0U}; // 1 -> 2 -> none
    std::array<int, 3> owned{};
    const auto tagged = [](std::uint32_t seen, std::uint32_t index) {
        return repaired ? ((seen >> 8) + 1) << 8 | index : index;
    };
    const auto pop = [&]() -> std::uint32_t {
        std::uint32_t seen = top.load(acquire);
        while ((seen & 0xFF) != 0) {
            const std::uint32_t after = next[seen & 0xFF].load(relaxed);
            if (top.compare_exchange_strong(seen, tagged(seen, after), acq_rel, acquire)) return seen & 0xFF;
        }
        return 0;
    };
    const auto push = [&](std::uint32_t index) {
        std::uint32_t seen = top.load(relaxed);
        do {
            next[index].store(seen & 0xFF, relaxed);
        } while (!top.compare_exchange_strong(seen, tagged(seen, index), release, relaxed));
    };
    thread other([&] {
        const std::uint32_t got = pop();
        ++owned[got];
    });
    const std::uint32_t a = pop();
    const std::uint32_t b = pop();
    ++owned[b];
    if (a != 0) push(a);
    other.join();
    for (std::uint32_t got = pop(); got != 0; got = pop()) ++owned[got];
    check::that(owned[1] == 1 && owned[2] == 1, "each node has one owner");
}

// A submitter reads the stop flag and then enqueues. In between, the closer has drained the queue.
EXHIBIT(double_checked_stop,
        "https://gee.cs.oswego.edu/dl/jsr166/src/main/java/util/concurrent/ThreadPoolExecutor.java") {
    atomic<bool> stopped{false};
    atomic<int> submitting{0};
    atomic<int> queued{0};
    bool accepted = false;
    thread submitter([&] {
        if (repaired) {
            submitting.fetch_add(1, seq_cst);
            fence(seq_cst);
        }
        if (!stopped.load(seq_cst)) {
            queued.fetch_add(1, release);
            accepted = true;
        }
        if (repaired) submitting.fetch_sub(1, release);
    });
    stopped.store(true, seq_cst);
    fence(seq_cst);
    while (submitting.load(acquire) != 0) yield();
    const int drained = queued.exchange(0, acquire);
    submitter.join();
    check::that(drained == (accepted ? 1 : 0), "an accepted task is drained");
}

// The handler of an expired timer is still queued when cancel() returns. It runs later and reports success.
EXHIBIT(
    timer_cancel_after_expiry,
    "https://www.boost.org/doc/libs/release/doc/html/boost_asio/reference/basic_waitable_timer/cancel.html") {
    enum : std::uint32_t { pending, queued, running, done, canceled };
    atomic<std::uint32_t> state{pending};
    cell<int> target{1};
    thread loop([&] {
        std::uint32_t seen = pending;
        if (!state.compare_exchange_strong(seen, queued, acq_rel, relaxed)) return; // the timer expires
        seen = queued;
        if (repaired && !state.compare_exchange_strong(seen, running, acq_rel, relaxed)) return;
        target.write(target.read() + 1); // the handler reports success
        state.store(done, release);
    });
    std::uint32_t seen = pending;
    bool stopped = state.compare_exchange_strong(seen, canceled, acq_rel, acquire);
    if (repaired && !stopped && seen == queued)
        stopped = state.compare_exchange_strong(seen, canceled, acq_rel, acquire);
    if (repaired && !stopped) {
        while (state.load(acquire) != done) yield();
    }
    target.write(-1); // the object that the handler uses is destroyed here
    loop.join();
}

} // namespace order_of_events_exhibits
