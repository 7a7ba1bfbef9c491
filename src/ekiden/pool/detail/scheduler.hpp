/// The engine of a thread pool: its queues, its workers, its sleep, its end.
///
/// Part: pool. Used by: thread_pool.cpp, worker.cpp. Private.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/pool/detail/crew.hpp>
#include <ekiden/pool/detail/event_count.hpp>
#include <ekiden/pool/detail/wait_circles.hpp>
#include <ekiden/pool/detail/watch.hpp>
#include <ekiden/pool/detail/work_source.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/queue/injection_queue.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/spin.hpp>

#include <algorithm>
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
    /// Starts the workers of `face`; see thread_pool. `shut_down_services` is called by join(), once, when no
    /// task is left.
    scheduler(thread_pool& face, void (*shut_down_services)(thread_pool&) noexcept,
              thread_pool_options chosen);
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    // ---- for thread_pool

    [[nodiscard]] bool submit(task* accepted, priority level, task_order order);
    /// The first call of `begun`, which a worker of this pool runs, and perhaps more. Throws what the call
    /// throws.
    [[nodiscard]] repeated_task::end repeat(repeated_task& begun, priority level, repeated_task::call call,
                                            const void* callable);
    [[nodiscard]] bool wait_idle(const wait_limit& limit);
    /// Something elsewhere will post to the pool: join() waits for its end. It may be the last call that its
    /// caller makes to the pool.
    void work_started() noexcept;
    void work_finished() noexcept;
    void pause() noexcept;
    void resume() noexcept;
    void stop() noexcept;
    [[nodiscard]] bool join(const wait_limit& limit);
    [[nodiscard]] thread_pool_metrics metrics() const;
    [[nodiscard]] std::string activity() const;
    void dump(int file) const noexcept;
    [[nodiscard]] bool is_in_forked_child() const noexcept {
        return (gate_.load(sys::relaxed) & gate_bit::forked) != 0;
    }
    /// The worker that the calling thread is, or null if it is none of this pool.
    [[nodiscard]] worker* this_worker() const noexcept;
    /// The pool that the calling thread works for, the innermost if several, or null.
    [[nodiscard]] static thread_pool* of_this_thread() noexcept;
    [[nodiscard]] thread_pool& face() const noexcept { return face_; }
    [[nodiscard]] context_id id() const noexcept { return id_; }
    /// How long every idle worker looks for work; 0: as sys::spin_ns, and one at a time.
    [[nodiscard]] std::uint64_t spin_ns() const noexcept { return spin_ns_; }
    /// How long one that looks in vain looks at least.
    [[nodiscard]] std::uint64_t shortest_look_ns() const noexcept {
        return spin_ns_ != 0 ? std::max(spin_ns_, sys::spin_ns) : sys::spin_ns / 2;
    }
    /// Calls the handler with the exception being handled.
    void report_unhandled(const char* type) noexcept;
    /// Throws std::system_error(operation_not_permitted) in the child of a fork(): the pool has no threads
    /// there.
    void refuse_in_child(const char* operation) const;
    /// What refuse_in_simulation() says of pools.
    static constexpr const char* no_simulation = "a thread_pool runs for real: use a sim_context in its "
                                                 "place, with .helps = true if tasks wait for results";
    /// The pool is destroyed by one of its own threads.
    [[noreturn]] void refuse_destruction_here() const noexcept;
    /// Tell the program that the pool cannot get on: all threads are blocked; the tasks of these workers wait
    /// for each other.
    void report_saturation() noexcept;
    void report_circle(std::span<const unsigned> circle) noexcept;

    // ---- for workers

    [[nodiscard]] const sys::atomic<std::uint32_t>& gate() const noexcept { return gate_; }
    [[nodiscard]] event_count& sleep() noexcept { return sleep_; }
    /// After a task was published.
    void notify() noexcept {
        if (sleep_.notify()) [[unlikely]]
            thread_record::here().has_woken_a_worker = true;
    }
    [[nodiscard]] injection_queue& queue(priority level) noexcept {
        return queues_[static_cast<std::size_t>(level)];
    }
    [[nodiscard]] crew& threads() noexcept { return threads_; }
    [[nodiscard]] wait_circles& circles() noexcept { return circles_; }
    [[nodiscard]] std::span<const std::unique_ptr<worker>> workers() const noexcept {
        return threads_.workers();
    }
    /// A worker of this pool has left its sleep.
    void left_sleep() noexcept {
        if (watch_.has_value()) watch_->wake();
    }
    void set_crowded(bool is_so) noexcept;
    /// The calling thread works for no context: the child of a fork() has no workers, though it may be inside
    /// of a task.
    static void forget_thread() noexcept;
    /// Whether a worker may find a task to take.
    [[nodiscard]] bool has_work() const noexcept;
    /// A worker has nothing to do, and has passed a full fence since: wakes those who wait for that.
    void announce_idle() noexcept;

    // ---- the work source

    /// Sets the pool's only source. The source remains until the threads have ended. Any thread.
    void set_source(work_source& source) noexcept;
    // The calls of its members; without a source there is no work.
    [[nodiscard]] task* find_in_sources(unsigned w) noexcept;
    [[nodiscard]] bool sources_have_work() const noexcept;
    void ask_sources() noexcept;

private:
    void refuse_in_own_thread(const char* operation) const;
    /// Whether every accepted task has ended. Exact if true.
    [[nodiscard]] bool is_idle() const noexcept;
    [[nodiscard]] bool block_until_idle(const wait_limit& limit) noexcept;
    [[nodiscard]] bool drain(const wait_limit& limit) noexcept;
    [[nodiscard]] bool wait_for_outstanding_work(const wait_limit& limit) noexcept;
    [[nodiscard]] bool has_outstanding_work() const noexcept;
    void report_stall(stall_report::reason why, std::span<const unsigned> threads) noexcept;
    [[nodiscard]] bool has_stopped() const noexcept {
        return (gate_.load(sys::relaxed) & gate_bit::stopped) != 0;
    }
    [[nodiscard]] injection_queue& checked_queue(priority level);

    // outstanding_: how much work there is elsewhere that will post its end here, a bit that is set while
    // join() sleeps until there is none, and one that is set when stop() has said that none is awaited any
    // more.
    static constexpr std::uint32_t work_awaited = std::uint32_t{1} << 31;
    static constexpr std::uint32_t work_in_vain = std::uint32_t{1} << 30;
    static constexpr std::uint32_t work_count = work_in_vain - 1;

    thread_pool& face_;
    const context_id id_;
    void (*const shut_down_services_)(thread_pool&) noexcept;
    const thread_pool_options options_;
    const std::uint64_t spin_ns_;
    alignas(sys::isolation) sys::atomic<std::uint32_t> gate_{0}; // read by everybody, seldom written
    sys::atomic<work_source*> source_{nullptr};
    crew threads_;
    std::array<injection_queue, 3> queues_; // one per priority
    wait_circles circles_;
    event_count sleep_;
    std::optional<watch> watch_;
    binary_semaphore joining_{1};         // whose permit is the turn to end the pool
    bool services_are_shut_down_ = false; // with that turn

    sys::atomic<std::uint32_t> idle_waiters_{0};
    sys::atomic<std::uint32_t> idle_epoch_{0};
    sys::atomic<std::uint32_t> outstanding_{0};
    sys::atomic<std::uint32_t> works_begun_{0};
    sys::atomic<std::uint64_t> stalls_{0};

    friend struct pool_list; // all pools of the process, for fork()
    scheduler* older_ = nullptr;
    scheduler* newer_ = nullptr;
};

} // namespace ekiden::inline EKIDEN_ABI
