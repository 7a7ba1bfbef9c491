/// The engine of a thread pool: its queues, its workers, its sleep, its end.
///
/// Part: pool. Used by: thread_pool.cpp, worker.cpp. Private.
#pragma once

#include <ekiden/fork/fork_party.hpp>
#include <ekiden/pool/crew.hpp>
#include <ekiden/pool/event_count.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/pool/watch.hpp>
#include <ekiden/queue/injection_queue.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace ekiden::inline EKIDEN_ABI {

class worker;

/// What the pool lets in and lets run: bits of scheduler::gate().
namespace gate_bit {
inline constexpr std::uint32_t closed = 1;   ///< takes no tasks from outside: join() or stop()
inline constexpr std::uint32_t stopped = 2;  ///< takes no tasks at all, and abandons the queued ones
inline constexpr std::uint32_t paused = 4;   ///< begins no tasks
inline constexpr std::uint32_t forked = 8;   ///< this is the child of a fork: there are no workers
inline constexpr std::uint32_t crowded = 16; ///< more threads are at work than there should be; set by crew
inline constexpr std::uint32_t refuses_outside = closed | stopped | forked;
inline constexpr std::uint32_t refuses_workers = stopped | forked;
} // namespace gate_bit

class scheduler {
public:
    /// Starts the workers of `face`; see thread_pool.
    scheduler(thread_pool& face, thread_pool_options chosen);
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    // ---- for thread_pool

    [[nodiscard]] bool submit(task* accepted, priority level);
    void wait_idle();
    void pause() noexcept;
    void resume() noexcept;
    void stop() noexcept;
    void join();
    [[nodiscard]] thread_pool_metrics metrics() const;
    [[nodiscard]] bool is_in_forked_child() const noexcept {
        return (gate_.load(sys::relaxed) & gate_bit::forked) != 0;
    }
    [[nodiscard]] unsigned thread_count() const noexcept { return threads_.base(); }
    /// The worker that the calling thread is, or null if it is none of this pool.
    [[nodiscard]] worker* this_worker() const noexcept;
    /// The engine of the pool whose worker the calling thread is, or null.
    [[nodiscard]] static scheduler* of_this_thread() noexcept;
    /// The worker of any pool that the calling thread is, or null.
    [[nodiscard]] static worker* current_worker() noexcept;
    [[nodiscard]] thread_pool& face() const noexcept { return face_; }
    /// Calls the handler with the exception being handled.
    void report_unhandled(const char* type) noexcept;
    void report_stall(stall_report report) noexcept;

    // ---- for workers

    [[nodiscard]] const sys::atomic<std::uint32_t>& gate() const noexcept { return gate_; }
    [[nodiscard]] event_count& sleep() noexcept { return sleep_; }
    [[nodiscard]] fork_arena& forks() noexcept { return forks_; }
    [[nodiscard]] injection_queue& queue(priority level) noexcept {
        return queues_[static_cast<std::size_t>(level)];
    }
    [[nodiscard]] crew& threads() noexcept { return threads_; }
    [[nodiscard]] std::span<const std::unique_ptr<worker>> workers() const noexcept {
        return threads_.workers();
    }
    /// A worker of this pool has left its sleep.
    void left_sleep() noexcept {
        if (watch_.has_value()) watch_->wake();
    }
    void set_crowded(bool is_so) noexcept;
    /// Makes the calling thread that worker.
    void adopt_thread(worker& self) noexcept;
    /// Whether a worker may find a task to take.
    [[nodiscard]] bool has_work() const noexcept;
    /// A worker has nothing to do, and has passed a heavy fence since: wakes those who wait for that.
    void announce_idle() noexcept;

private:
    void refuse_in_worker(const char* operation) const;
    void refuse_in_child(const char* operation) const;
    /// Whether every accepted task has ended. Exact if true.
    [[nodiscard]] bool is_idle() const noexcept;
    void block_until_idle() noexcept;

    thread_pool& face_;
    const thread_pool_options options_;
    alignas(sys::isolation) sys::atomic<std::uint32_t> gate_{0}; // read by everybody, seldom written
    fork_arena forks_;
    crew threads_;
    std::array<injection_queue, 3> queues_; // one per priority; workers lease from that of the normal one
    event_count sleep_;
    std::optional<watch> watch_;
    sys::slow_lock joining_;

    sys::atomic<std::uint32_t> idle_waiters_{0};
    sys::atomic<std::uint32_t> idle_epoch_{0};

    friend struct pool_list; // all pools of the process, for fork()
    scheduler* older_ = nullptr;
    scheduler* newer_ = nullptr;
};

} // namespace ekiden::inline EKIDEN_ABI
