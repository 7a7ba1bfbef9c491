/// Peer: a detached thread for each task. It is the slowest row of the source.
#pragma once

#include <lab/peers/promised_call.hpp>
#include <lab/peers/row.hpp>

#include <atomic>
#include <thread>
#include <utility>

namespace lab::peers {

class thread_per_task {
public:
    static constexpr peers::row row{"thread-per-task", "thread per task", 80, false};
    static constexpr unsigned slowness = 256;

    explicit thread_per_task(unsigned) {}

    ~thread_per_task() {
        while (running_.load() > 0) std::this_thread::yield();
    }

    template <class F>
    void post(F f) {
        running_.fetch_add(1);
        std::thread([this, f = std::move(f)]() mutable {
            f();
            running_.fetch_sub(1);
        }).detach();
    }

    template <class F>
    auto call(F f) {
        return promised_call([this](auto g) { post(std::move(g)); }, f);
    }

private:
    std::atomic<unsigned> running_{0};
};

} // namespace lab::peers
