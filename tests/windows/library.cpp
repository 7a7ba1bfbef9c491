// A DLL with pools in static objects.
#include <ekiden/loop/loop_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/latch.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <memory>

#include "library.hpp"

namespace {

struct all_pools {
    ekiden::thread_pool pool{{.threads = 2, .watch_interval = std::chrono::milliseconds(1)}};
    ekiden::loop_pool loops{{.threads = 1}};
    ekiden::steady_timer timer{pool};
};

/// The destructor runs when the DLL is unloaded, or when the process exits.
struct static_pools {
    std::unique_ptr<all_pools> all;
    bool waits_at_end = false;
    void (*at_end)() = nullptr;

    ~static_pools() {
        if (at_end != nullptr) at_end();
        if (waits_at_end) ekiden::latch(1).wait();
        if (all == nullptr) return;
        all.reset();
        say("pools of the DLL: destroyed\n");
    }
};

static_pools pools;

} // namespace

int use_pools() {
    if (pools.all == nullptr) pools.all = std::make_unique<all_pools>();
    std::atomic<int> ran{0};
    ekiden::latch timer_fired(1);
    pools.all->timer.expires_after(std::chrono::milliseconds(1));
    pools.all->timer.async_wait([&](const auto&) { timer_fired.count_down(); });
    for (int i = 0; i != 10; ++i) pools.all->pool.post([&] { ++ran; });
    pools.all->pool.wait_idle();
    pools.all->loops.get_executor(0).submit([&] { ++ran; }).get();
    timer_fired.wait();
    return ran;
}

void end_pools() { pools.all.reset(); }
void post_to_pools(void (*task)()) { pools.all->pool.post(task); }
void call_at_end(void (*f)()) { pools.at_end = f; }
void wait_at_end() { pools.waits_at_end = true; }
