#include <lab/experiments/replay/models.hpp>
#include <lab/peers/ekiden.hpp>
#include <lab/peers/ekiden_executors.hpp>

#include <atomic>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/mutex.hpp>
#include <mutex>
#include <vector>

namespace lab::replay {
namespace {

ekiden::thread_pool_options elastic(unsigned workers) {
    return {.threads = workers, .max_threads = workers + spare_threads};
}

/// Threads that share one lock, which admits them in order of arrival. Each dequeues the next request while
/// it holds the lock, and serves it.
class fifo_lock {
public:
    static constexpr promise promised = promise::order;
    static constexpr shape formed = shape::serial;

    fifo_lock(unsigned workers, std::size_t, service& s) : service_(s) {
        for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
    }
    ~fifo_lock() {
        // One more for each, so that it sees the end.
        for (std::size_t i = 0; i < threads_.size(); ++i) waiting_.release();
        for (std::thread& thread : threads_) thread.join();
    }

    void post(std::size_t) {
        posted_.fetch_add(1, std::memory_order_relaxed);
        waiting_.release();
    }

private:
    void work() {
        for (;;) {
            waiting_.acquire();
            const std::lock_guard lock(mutex_);
            if (next_ == posted_.load(std::memory_order_relaxed)) return; // it was the end's
            service_.serve<promise::order>(next_++);
        }
    }

    service& service_;
    ekiden::counting_semaphore<> waiting_{0};
    ekiden::fifo_mutex mutex_;
    std::size_t next_ = 0; // protected by the mutex; requests are numbered in order of arrival
    std::atomic<std::size_t> posted_{0};
    std::vector<std::thread> threads_;
};

/// Lanes on a pool. With `Guard`, the pool starts more threads while some block.
template <class Guard>
class on_lanes {
public:
    static constexpr promise promised = promise::order;
    static constexpr shape formed =
        std::is_same_v<Guard, std::nullopt_t> ? shape::keyed : shape::elastic_keyed;

    on_lanes(unsigned workers, std::size_t, service& s)
        : service_(s), pool_(options(workers)), lanes_(pool_.get_executor()) {}
    ~on_lanes() { pool_.join(); }

    void post(std::size_t index) {
        (void)lanes_.post(service_.key(index),
                          [this, index] { service_.serve<promise::order, Guard>(index); });
    }

private:
    static ekiden::thread_pool_options options(unsigned workers) {
        if constexpr (std::is_same_v<Guard, std::nullopt_t>) return {.threads = workers};
        return elastic(workers);
    }

    service& service_;
    ekiden::thread_pool pool_;
    ekiden::lanes<std::uint32_t, ekiden::thread_pool::executor_type> lanes_;
};

/// A pool that starts more threads while some block. Each request is a task.
class elastic_pool {
public:
    static constexpr promise promised = promise::nothing;
    static constexpr shape formed = shape::elastic_pool;

    elastic_pool(unsigned workers, std::size_t, service& s) : service_(s), pool_(elastic(workers)) {}
    ~elastic_pool() { pool_.join(); }

    void post(std::size_t index) {
        pool_.post([this, index] { service_.serve<promise::nothing, ekiden::blocking_region>(index); });
    }

private:
    service& service_;
    ekiden::thread_pool pool_;
};

/// A pool. Each task locks the mutex of its key.
class mutex_per_key {
public:
    static constexpr promise promised = promise::exclusive;
    static constexpr shape formed = shape::mutex_per_key;

    mutex_per_key(unsigned workers, std::size_t keys, service& s)
        : service_(s), mutexes_(keys), pool_({.threads = workers}) {}
    ~mutex_per_key() { pool_.join(); }

    void post(std::size_t index) {
        pool_.post([this, index] {
            const std::lock_guard lock(mutexes_[service_.key(index)]);
            service_.serve<promise::exclusive>(index);
        });
    }

private:
    service& service_;
    std::vector<ekiden::mutex> mutexes_;
    ekiden::thread_pool pool_;
};

using library = peers::ekiden_executors;

const bool added =
    add_model<on_lanes<std::nullopt_t>>("ekiden", "ekiden, lanes", 1)
    && add_model<on_lanes<ekiden::blocking_region>>("ekiden-elastic-lanes", "ekiden, elastic lanes", 2)
    && add_model<strand_per_key<library>>("ekiden-strand-per-key", "ekiden, strand per key", 3)
    && add_model<context_per_thread<library>>("ekiden-context-per-thread", "ekiden, context per thread", 4)
    && add_model<single_consumer<library>>("ekiden-single-consumer", "ekiden, one thread", 5)
    && add_model<fifo_lock>("ekiden-fifo-lock", "ekiden, one FIFO lock", 6)
    && add_model<mutex_per_key>("ekiden-mutex-per-key", "ekiden, mutex per key", 7)
    && add_model<in_pool<peers::ekiden>>("ekiden-pool", "ekiden, pool", 8)
    && add_model<elastic_pool>("ekiden-elastic-pool", "ekiden, elastic pool", 9)
    && add_model<shared_context<library>>("ekiden-shared-context", "ekiden, shared context", 10)
    && add_model<half_sync<library>>("ekiden-half-sync", "ekiden, half-sync", 11);

} // namespace
} // namespace lab::replay
