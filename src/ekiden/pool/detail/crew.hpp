/// The threads of a pool: how many there are, which are blocked, which stand by.
///
/// Part: pool. Used by: scheduler (owns it), worker, watch. Private. What it keeps to, and why: elastic.md.
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
#include <span>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;
class worker;

class crew {
public:
    /// Throws std::invalid_argument for bad numbers of threads, and std::bad_alloc.
    crew(scheduler& pool, const thread_pool_options& options);
    ~crew();
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    /// Starts the threads that the pool has at least. Throws what starting them throws; those that were
    /// started run.
    void start();
    /// The pool has stopped: nobody is hired any more, and whoever stands by leaves. Any thread.
    void stop() noexcept;
    /// After stop(): returns when all threads have ended. One thread at a time.
    void join() noexcept;

    /// All workers that have ever been started; their number only grows.
    [[nodiscard]] std::span<const std::unique_ptr<worker>> workers() const noexcept {
        // [EL1] acquire: the worker; pairs with the release in enlist().
        return {workers_.get(), enlisted_.load(sys::acquire)};
    }
    /// How many threads run tasks when none is blocked.
    [[nodiscard]] unsigned base() const noexcept { return base_; }
    /// How many threads there may be.
    [[nodiscard]] unsigned most() const noexcept { return most_; }
    [[nodiscard]] sys::clock::duration keep_alive() const noexcept { return keep_alive_; }
    void add_to(thread_pool_metrics& sum) const noexcept;

    // ---- for the worker's own thread

    /// It blocks from now on, for `what`. Others get its place and what it has queued.
    void block(worker& who, const char* what) noexcept;
    void unblock(worker& who) noexcept;

    /// Whether more threads are at work than there should be, now that blocked ones have come back. A hint.
    [[nodiscard]] bool is_crowded() const noexcept;
    /// Waits until it is needed. False if that takes too long: the thread must end, and not touch its worker
    /// again.
    [[nodiscard]] bool stand_by(worker& who) noexcept;
    /// After a long sleep: true if there are enough others. Then as stand_by() with false.
    [[nodiscard]] bool retire(worker& who) noexcept;

    // ---- for the watch's thread

    /// Whether every worker sleeps for want of tasks, or stands by.
    [[nodiscard]] bool is_quiet() const noexcept;
    /// A worker that compensate() has found blocked, and that has got on since, is at work again.
    void take_back() noexcept;
    /// A worker that sleeps in the kernel, at two calls, in the same task, is blocked: others get its place.
    /// Returns whether another thread was put to work.
    [[nodiscard]] bool compensate() noexcept;
    /// Whether all threads are blocked, and there may be no more of them.
    [[nodiscard]] bool is_saturated() const noexcept;

    /// Any thread: what the thread is doing. Throws std::bad_alloc.
    [[nodiscard]] stalled_thread describe(unsigned index) const;

private:
    /// What a thread is about. Under lock_.
    struct member {
        enum class duty : std::uint8_t {
            none,        // there is no such thread
            at_work,     // looks for tasks, runs them, or sleeps until there are some
            blocked,     // has said so
            compensated, // the watch has found it blocked
            standing_by, // waits until it is hired
        };
        duty is = duty::none;
        const char* what = nullptr; // of a blocked one
        std::uint64_t since_ns = 0; // blocked
        sys::thread thread;
        sys::thread_probe probe;
        std::uint64_t seen_finished = 0; // by the watch, at its last look
        std::uint64_t seen_cpu_ns = 0;
        sys::atomic<std::uint32_t> hired{0}; // a thread that stands by sleeps on it
    };

    [[nodiscard]] member& of(const worker& who) const noexcept;
    void enlist();
    void start_thread(unsigned index);
    void live(unsigned index);
    void change_active(int by) noexcept;
    void hire() noexcept;
    [[nodiscard]] sys::thread take_leave(worker& who) noexcept;

    scheduler& pool_;
    const thread_pool_options& options_;
    const unsigned base_;
    const unsigned most_;
    const sys::clock::duration keep_alive_;
    std::vector<std::vector<int>> places_; // the processors for each thread of the base; empty: anywhere

    mutable sys::slow_lock lock_;
    const std::unique_ptr<std::unique_ptr<worker>[]> workers_;
    const std::unique_ptr<member[]> members_;
    sys::atomic<unsigned> enlisted_{0};
    sys::atomic<unsigned> active_{0}; // at work. Written under lock_
    unsigned threads_ = 0;
    unsigned blocked_ = 0;
    unsigned peak_ = 0;
    std::uint64_t refused_ = 0;         // threads that the system did not give
    std::vector<unsigned> standing_by_; // the last one is hired first: its memory is warmest
    sys::thread last_retired_;          // so that at most one ended thread is not joined
    bool has_stopped_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI
