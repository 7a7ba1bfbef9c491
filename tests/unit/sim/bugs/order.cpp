#include "bug.hpp"

#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace bugs {
namespace {

// ---- 8. Two writes are in flight on one connection, because the mutex guards only their start.

class connection {
public:
    explicit connection(sim_context& sim) : sim_(sim) {}

    /// A message is sent in two parts.
    void async_write(int message, std::function<void()> done) {
        post(sim_, [this, message, done = std::move(done)] {
            wire.push_back(message);
            post(sim_, [this, message, done] {
                sim::expect(wire.back() == message, "a message is in one piece");
                wire.push_back(message);
                done();
            });
        });
    }
    std::vector<int> wire;

private:
    sim_context& sim_;
};

template <bool is_repaired>
void interleaved_writes(sim_context& sim) {
    connection peer(sim);
    mutex starting;
    std::deque<int> queued;
    std::function<void()> write_next = [&] {
        peer.async_write(queued.front(), [&] {
            queued.pop_front();
            if (!queued.empty()) write_next();
        });
    };
    for (int message = 1; message <= 2; ++message) {
        later(sim, 5 * (message - 1), [&, message] {
            const std::lock_guard guard(starting);
            if constexpr (is_repaired) {
                queued.push_back(message);
                if (queued.size() == 1) write_next();
            } else {
                peer.async_write(message, [] {});
            }
        });
    }
    sim.run();
    sim::expect(peer.wire.size() == 4, "all is written");
}

// ---- 9. Requests for one key are handled on one strand or another, depending on the load.

template <bool is_repaired>
void key_on_two_strands(sim_context& sim) {
    const strand reader(sim.get_executor());
    const strand helper(sim.get_executor());
    const lanes<int> by_key(sim.get_executor());
    sim::in_order<int> handled("the messages of a key");
    int load = 0;
    steady_timer source(sim);
    std::function<void(int)> arrive = [&](int message) {
        reader.post([&, message] {
            const auto handle = [&, message] {
                handled.saw(7, message);
                --load;
            };
            ++load;
            if (is_repaired)
                (void)by_key.post(7, handle);
            else if (load > 1)
                helper.post(handle);
            else
                reader.post(handle);
        });
        if (message == 2) return;
        source.expires_after(1ms);
        source.async_wait([&, message](std::error_code) { arrive(message + 1); });
    };
    arrive(0);
    sim.run();
}

// ---- 10. A failed request goes to the tail of the queue, and the next request of its key overtakes it.

template <bool is_repaired>
void retry_at_the_tail(sim_context& sim) {
    const lanes<int> by_key(sim.get_executor());
    std::map<int, std::deque<int>> waiting;
    sim::in_order<int> done("the requests of a key");
    std::function<void(int)> next = [&](int key) {
        auto& queue = waiting[key];
        const int request = queue.front();
        queue.pop_front();
        if (sim::may_fail("the backend is busy")) {
            if (is_repaired)
                queue.push_front(request);
            else
                queue.push_back(request);
            (void)by_key.post(key, [&, key] { next(key); });
        } else {
            done.saw(key, request);
        }
    };
    for (int request = 0; request < 3; ++request) {
        for (int key = 0; key < 2; ++key) {
            (void)by_key.post(key, [&, key, request] {
                waiting[key].push_back(request);
                next(key);
            });
        }
    }
    sim.run();
}

} // namespace

std::vector<bug> of_order() {
    return {
        {8, "two writes in flight", interleaved_writes<false>, interleaved_writes<true>,
         sim::verdict::expectation},
        {9, "a key on two strands", key_on_two_strands<false>, key_on_two_strands<true>, sim::verdict::order},
        {10,
         "a retry at the tail",
         retry_at_the_tail<false>,
         retry_at_the_tail<true>,
         sim::verdict::order,
         {sim::fault::throwing}},
    };
}

} // namespace bugs
