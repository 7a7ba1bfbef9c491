/// Peer: the pool with one shared queue from the source's series.
///
/// It has a mutex, a condition variable and a std::queue of std::function. Each task is a std::packaged_task
/// in a shared_ptr. Submitting returns a std::future.
#pragma once

#include <lab/peers/row.hpp>

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

namespace lab::peers {

class shared_queue_source {
public:
    static constexpr peers::row row{"shared-queue-source", "shared queue (source)", 20};
    explicit shared_queue_source(unsigned workers) {
        for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
    }

    ~shared_queue_source() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (std::thread& t : threads_) t.join();
    }

    template <class F>
    auto submit(F f) {
        using result = decltype(f());
        auto task = std::make_shared<std::packaged_task<result()>>(std::move(f));
        std::future<result> future = task->get_future();
        {
            const std::lock_guard lock(mutex_);
            tasks_.emplace([task] { (*task)(); });
        }
        changed_.notify_one();
        return future;
    }

    template <class F>
    void post(F f) {
        submit(std::move(f));
    }

    template <class F>
    auto call(F f) {
        return submit(std::move(f)).get();
    }

private:
    void work() {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
                if (tasks_.empty()) return;
                task = std::move(tasks_.front());
                tasks_.pop();
            }
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::queue<std::function<void()>> tasks_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

} // namespace lab::peers
