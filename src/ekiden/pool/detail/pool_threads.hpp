/// The threads of a pool. The class records how many threads there are, which threads are blocked, and which
/// threads stand by.
///
/// Part: pool. Used by: pool. Private. elastic.md explains the rules and their reasons.
#pragma once

#include <ekiden/pool/stall.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/thread_probe.hpp>

#include <algorithm>
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
    /// Throws std::invalid_argument if `options` contains an invalid number of threads. Also throws
    /// std::bad_alloc.
    pool_threads(scheduler& pool, const thread_pool_options& options);
    ~pool_threads();
    pool_threads(const pool_threads&) = delete;
    pool_threads& operator=(const pool_threads&) = delete;

    /// Starts the first base() threads. Throws std::system_error if a thread cannot be started. In this case,
    /// the threads that have already started continue to run.
    void start();
    /// Called by any thread after the pool has stopped. Wakes the threads that stand by, so that these
    /// threads can end. No thread is hired after this call.
    void stop() noexcept;
    /// Waits until all threads have ended. Only one thread at a time may call join(), and only after stop().
    void join() noexcept;

    /// Returns all workers that have ever existed. The number of workers only grows.
    [[nodiscard]] std::span<const std::unique_ptr<worker>> workers() const noexcept {
        // [EL1] Acquire: a thread that sees the number also sees the workers. Pairs with the release in
        // enlist().
        return {workers_.get(), enlisted_.load(sys::acquire)};
    }
    /// Returns how many threads run tasks while no thread is blocked. follow() changes the number.
    [[nodiscard]] unsigned base() const noexcept { return base_.load(sys::relaxed); }
    /// Returns how many threads the pool may ever have at once.
    [[nodiscard]] unsigned most() const noexcept { return most_; }
    /// Returns whether the pool may have more than base() threads while some are blocked.
    [[nodiscard]] bool grows() const noexcept { return limit() > base(); }
    /// Any thread: reads the number of usable processors, and adapts base() to it if the option `threads` is
    /// 0. Starts missing threads. Threads that are too many end like surplus threads. Throws std::bad_alloc.
    void follow();
    /// Any thread: adapts base() to a number of processors.
    void follow(unsigned processors) noexcept;
    [[nodiscard]] sys::clock::duration keep_alive() const noexcept { return keep_alive_; }
    void add_to(thread_pool_metrics& sum) const noexcept;

    // ---- called by the worker's own thread

    /// Records that the worker `who` is about to block on `what`. Wakes or starts another thread if too few
    /// threads are at work.
    void block(worker& who, const char* what) noexcept;
    void unblock(worker& who) noexcept;

    /// Returns whether more than base() threads are at work. The function also counts the threads that sleep
    /// because there are no tasks. The result is a hint. Each worker calls this function before each task.
    [[nodiscard]] bool has_surplus() const noexcept { return active_.load(sys::relaxed) > base(); }
    /// Returns whether more than base() threads are at work and awake. The result is a hint.
    [[nodiscard]] bool is_crowded() const noexcept;
    /// Waits until another thread hires the worker `who`. Returns false if `who` was not hired for the time
    /// keep_alive(). After a false result, worker::run() must return, so that the calling thread ends.
    [[nodiscard]] bool stand_by(worker& who) noexcept;
    /// Called by the thread of a worker after a long sleep. Returns true if the pool has enough other
    /// threads. After a true result, worker::run() must return, so that the calling thread ends.
    [[nodiscard]] bool retire(worker& who) noexcept;

    // ---- called by the watch's thread

    /// Returns true if each worker either stands by, or sleeps because there are no tasks.
    [[nodiscard]] bool is_quiet() const noexcept;
    /// Finds the workers that compensate() has marked as blocked and that have made progress since. Marks
    /// these workers as at work again.
    void take_back() noexcept;
    /// Finds the workers that sleep in the kernel and have made no progress since the previous call. Marks
    /// these workers as blocked, and hires other threads to replace them. Returns whether a thread was hired.
    [[nodiscard]] bool compensate() noexcept;
    /// Returns whether the pool has most() threads, and all of them are blocked.
    [[nodiscard]] bool is_saturated() const noexcept;

    /// Any thread: returns true if `count` threads are blocked, and no other thread is at work.
    [[nodiscard]] bool are_all_blocked(unsigned count) const noexcept;
    /// Any thread: returns a probe of the thread with the index `index`, or of no thread.
    [[nodiscard]] sys::thread_probe probe_of(unsigned index) const noexcept;
    /// Any thread: returns what the thread with the index `index` does. Throws std::bad_alloc.
    [[nodiscard]] stalled_thread describe(unsigned index) const;

private:
    /// The state of a thread. The state is protected by lock_.
    struct member {
        enum class duty : std::uint8_t {
            none,        // the thread does not exist
            at_work,     // the thread searches for tasks, runs them, or sleeps until there are tasks
            blocked,     // the thread has announced that it blocks
            compensated, // the watch has found that the thread is blocked
            standing_by, // the thread waits until it is hired
            leaving,     // the thread no longer runs tasks, and will give its place back
        };
        duty is = duty::none;
        const char* what = nullptr; // what a blocked thread waits for
        std::uint64_t since_ns = 0; // the time at which the thread began to block
        sys::thread thread;
        sys::thread_probe probe;
        std::uint64_t seen_finished = 0; // the number of finished tasks at the last check of the watch
        std::uint64_t seen_cpu_ns = 0;
        sys::atomic<std::uint32_t> hired{0}; // a thread that stands by sleeps on this word
    };

    /// Returns how many threads the pool may have now.
    [[nodiscard]] unsigned limit() const noexcept { return std::max(options_.max_threads, base()); }
    void hire_up_to_base() noexcept;
    [[nodiscard]] member& of(const worker& who) const noexcept;
    void enlist();
    void start_thread(unsigned index);
    void live(unsigned index);
    void change_active(int by) noexcept;
    void hire() noexcept;
    void begin_to_leave(worker& who) noexcept;
    void leave(unsigned index) noexcept;

    scheduler& pool_;
    const thread_pool_options& options_;
    const bool follows_;   // the option `threads` is 0, so the usable processors decide
    const unsigned least_; // the bounds of base_ if the pool follows
    const unsigned upper_;
    sys::atomic<unsigned> base_; // changed only under lock_
    const unsigned most_;
    const sys::clock::duration keep_alive_;
    std::vector<std::vector<int>> places_; // the processors for the threads, which use them in turn, or empty

    mutable sys::slow_lock lock_;
    const std::unique_ptr<std::unique_ptr<worker>[]> workers_;
    const std::unique_ptr<member[]> members_;
    sys::atomic<unsigned> enlisted_{0};
    sys::atomic<unsigned> active_{0}; // the number of threads at work; changed only under lock_
    unsigned threads_ = 0;
    unsigned blocked_ = 0;
    unsigned peak_ = 0;
    std::uint64_t adapted_ = 0;         // how often follow() has changed base_
    std::uint64_t refused_ = 0;         // how often the system refused to start a thread
    std::vector<unsigned> standing_by_; // the last element is hired first: its caches are warmest
    sys::thread last_retired_;          // the next thread that retires joins this thread
    bool has_stopped_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI
