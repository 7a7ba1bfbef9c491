// Models that use only the standard library.
#include <lab/experiments/replay/replay.hpp>

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

namespace lab::replay {
namespace {

/// A thread for each request.
class thread_per_request {
public:
    static constexpr promise promised = promise::nothing;
    static constexpr shape formed = shape::thread_per_request;

    thread_per_request(unsigned, std::size_t, service& s) : service_(s) {}
    ~thread_per_request() {
        for (unsigned i = 0; i < most_threads; ++i) places_.acquire();
    }

    void post(std::size_t index) {
        places_.acquire();
        std::thread([this, index] {
            place_started_thread();
            service_.serve<promise::nothing>(index);
            places_.release();
        }).detach();
    }

private:
    service& service_;
    std::counting_semaphore<> places_{most_threads};
};

/// std::async for each request. The futures are kept until there are too many.
class async_per_request {
public:
    static constexpr promise promised = promise::nothing;
    static constexpr shape formed = shape::thread_per_request;

    async_per_request(unsigned, std::size_t, service& s) : service_(s) {}

    void post(std::size_t index) {
        if (running_.size() >= most_threads) running_.pop_front(); // waits for the oldest
        running_.push_back(std::async(std::launch::async, [this, index] {
            place_started_thread();
            service_.serve<promise::nothing>(index);
        }));
    }

private:
    service& service_;
    std::deque<std::future<void>> running_;
};

/// Threads that dequeue the requests and lock the mutex of the key.
class mutex_per_key {
public:
    static constexpr promise promised = promise::exclusive;
    static constexpr shape formed = shape::mutex_per_key;

    mutex_per_key(unsigned workers, std::size_t keys, service& s) : service_(s), mutexes_(keys) {
        for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
    }
    ~mutex_per_key() {
        {
            const std::lock_guard lock(mutex_);
            is_closed_ = true;
        }
        came_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    void post(std::size_t index) {
        {
            const std::lock_guard lock(mutex_);
            waiting_.push_back(index);
        }
        came_.notify_one();
    }

private:
    void work() {
        for (std::unique_lock lock(mutex_);;) {
            came_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            const std::size_t index = waiting_.front();
            waiting_.pop_front();
            lock.unlock();
            {
                const std::lock_guard key_lock(mutexes_[service_.key(index)]);
                service_.serve<promise::exclusive>(index);
            }
            lock.lock();
        }
    }

    service& service_;
    std::vector<std::mutex> mutexes_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<std::size_t> waiting_;
    bool is_closed_ = false;
    std::vector<std::thread> threads_;
};

constexpr const char* capped = "at most 512 threads at a time: then the clients wait, which counts";

const bool added =
    add_model<mutex_per_key>("std-mutex-per-key", "threads, mutex per key", 40)
    && add_model<thread_per_request>("std-thread-per-request", "thread per request", 41, capped)
    && add_model<async_per_request>("std-async", "std::async", 42, capped);

} // namespace
} // namespace lab::replay
