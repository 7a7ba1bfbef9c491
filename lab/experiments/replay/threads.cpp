// A model that uses only the standard library.
#include <lab/experiments/replay/replay.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace lab::replay {
namespace {

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

const bool added = add_model<mutex_per_key>("std-mutex-per-key", "threads, mutex per key", 40);

} // namespace
} // namespace lab::replay
