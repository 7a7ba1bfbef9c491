/// The threads of a pool: how many there are, which are blocked, which stand by.
///
/// Part: pool. Used by: scheduler (owns it), worker, watch. Private. The rules and their reasons: elastic.md.
#pragma once

#include <ekiden/pool/stall.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/thread_probe.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;
class worker;

class pool_threads {
public:
    /// Throws std::invalid_argument for bad numbers of threads, and std::bad_alloc.
    pool_threads(scheduler& pool, const thread_pool_options& options);
    ~pool_threads();
    pool_threads(const pool_threads&) = delete;
    pool_threads& operator=(const pool_threads&) = delete;

    /// Starts the first base() threads. Throws if a thread cannot be started. The threads before it then run.
    void start();
    /// Any thread, when the pool has stopped: hires the threads that stand by, so that they leave. No thread
    /// is hired later.
    void stop() noexcept;
    /// After stop(): returns when all threads have ended. Called by one thread at a time.
    void join() noexcept;

    /// Returns all workers that have ever existed. Their number only grows.
    [[nodiscard]] std::span<const std::unique_ptr<worker>> workers() const noexcept {
        // [EL1] Acquire: the worker. Pairs with the release in enlist().
        return {workers_.get(), enlisted_.load(sys::acquire)};
    }
    /// Returns how many threads run tasks when none is blocked.
    [[nodiscard]] unsigned base() const noexcept { return base_; }
    /// Returns how many threads there may be.
    [[nodiscard]] unsigned most() const noexcept { return most_; }
    [[nodiscard]] sys::clock::duration keep_alive() const noexcept { return keep_alive_; }
    void add_to(thread_pool_metrics& sum) const noexcept;

    // ---- for the worker's own thread

    /// `who` blocks from now on, for `what`. Another thread works in its stead.
    void block(worker& who, const char* what) noexcept;
    void unblock(worker& who) noexcept;

    /// Returns whether more than base() threads are at work, or asleep because they have no tasks. A hint,
    /// which each worker reads before each task.
    [[nodiscard]] bool has_surplus() const noexcept { return active_.load(sys::relaxed) > base_; }
    /// Returns whether more than base() threads are at work, without those asleep. A hint.
    [[nodiscard]] bool is_crowded() const noexcept;
    /// Waits until `who` is hired. Returns false if that takes longer than keep_alive(). Then the thread must
    /// end and no longer use its worker.
    [[nodiscard]] bool stand_by(worker& who) noexcept;
    /// Called after a long sleep. Returns true if there are enough other threads. Then the thread must end
    /// and no longer use its worker.
    [[nodiscard]] bool retire(worker& who) noexcept;

    // ---- for the watch's thread

    /// Returns whether every worker has no task and sleeps, or stands by.
    [[nodiscard]] bool is_quiet() const noexcept;
    /// Puts workers back to work that compensate() has found blocked, and that have made progress since.
    void take_back() noexcept;
    /// Treats a worker as blocked if it sleeps in the kernel, in the same task, at two calls in a row. Other
    /// threads work in its stead. Returns whether another thread was put to work.
    [[nodiscard]] bool compensate() noexcept;
    /// Returns whether all threads are blocked and there are most() threads.
    [[nodiscard]] bool is_saturated() const noexcept;

    /// Any thread: returns what the thread does. Throws std::bad_alloc.
    [[nodiscard]] stalled_thread describe(unsigned index) const;

private:
    /// The state of a thread. Under lock_.
    struct member {
        enum class duty : std::uint8_t {
            none,        // there is no such thread
            at_work,     // searches for tasks, runs them, or sleeps until there are some
            blocked,     // has announced it
            compensated, // the watch has found it blocked
            standing_by, // waits until it is hired
        };
        duty is = duty::none;
        const char* what = nullptr; // what a blocked thread waits for
        std::uint64_t since_ns = 0; // when it blocked
        sys::thread thread;
        sys::thread_probe probe;
        std::uint64_t seen_finished = 0; // at the last check of the watch
        std::uint64_t seen_cpu_ns = 0;
        sys::atomic<std::uint32_t> hired{0}; // a thread that stands by sleeps on it
    };

    [[nodiscard]] member& of(const worker& who) const noexcept;
    void enlist();
    void start_thread(unsigned index);
    void live(unsigned index);
    void change_active(int by) noexcept;
    void hire() noexcept;
    void leave(worker& who, std::unique_lock<sys::slow_lock>& guard) noexcept;

    scheduler& pool_;
    const thread_pool_options& options_;
    const unsigned base_;
    const unsigned most_;
    const sys::clock::duration keep_alive_;
    std::vector<std::vector<int>> places_; // the processors of each of the first base() threads; empty: any

    mutable sys::slow_lock lock_;
    const std::unique_ptr<std::unique_ptr<worker>[]> workers_;
    const std::unique_ptr<member[]> members_;
    sys::atomic<unsigned> enlisted_{0};
    sys::atomic<unsigned> active_{0}; // threads at work; written under lock_
    unsigned threads_ = 0;
    unsigned blocked_ = 0;
    unsigned peak_ = 0;
    std::uint64_t refused_ = 0;         // how often the system gave no thread
    std::vector<unsigned> standing_by_; // the last thread is hired first, because its caches are warmest
    sys::thread last_retired_;          // joined by the next thread that retires
    bool has_stopped_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI
