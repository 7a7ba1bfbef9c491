/// Peer: the best pool of one mutex, one condition variable and one deque. Small callables are stored in
/// place, there is no future, and it notifies only while a worker sleeps.
#pragma once

#include <lab/peers/promised_call.hpp>
#include <lab/peers/row.hpp>
#include <lab/peers/small_task.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace lab::peers {

class shared_queue {
public:
    static constexpr peers::row row{"shared-queue", "shared queue (lean)", 21};
    explicit shared_queue(unsigned workers) {
        for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
    }

    ~shared_queue() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (std::thread& t : threads_) t.join();
    }

    template <class F>
    void post(F f) {
        bool wake;
        {
            const std::lock_guard lock(mutex_);
            tasks_.emplace_back(std::move(f));
            wake = sleeping_ > 0;
        }
        if (wake) changed_.notify_one();
    }

    template <class F>
    auto call(F f) {
        return promised_call([this](auto g) { post(std::move(g)); }, f);
    }

private:
    void work() {
        for (;;) {
            small_task task;
            {
                std::unique_lock lock(mutex_);
                while (tasks_.empty()) {
                    if (stopping_) return;
                    ++sleeping_;
                    changed_.wait(lock);
                    --sleeping_;
                }
                task = std::move(tasks_.front());
                tasks_.pop_front();
            }
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<small_task> tasks_;
    unsigned sleeping_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

} // namespace lab::peers
