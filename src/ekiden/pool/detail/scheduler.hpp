/// The implementation of a thread pool. A scheduler owns the queues and the workers, and ends the pool.
///
/// Part: pool. Used by: pool, fork. Private.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/pool/detail/event_count.hpp>
#include <ekiden/pool/detail/pool_entrance.hpp>
#include <ekiden/pool/detail/pool_threads.hpp>
#include <ekiden/pool/detail/wait_circles.hpp>
#include <ekiden/pool/detail/watch.hpp>
#include <ekiden/pool/detail/work_source.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/queue/injection_queue.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/spin.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

namespace ekiden::inline EKIDEN_ABI {

class worker;

class scheduler {
public:
    /// Starts the workers of the pool `face`. join() calls `shut_down_services` once, when no task is left.
    scheduler(thread_pool& face, void (*shut_down_services)(thread_pool&) noexcept,
              thread_pool_options chosen);
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    // ---- called by thread_pool

    [[nodiscard]] bool submit(task* accepted, priority level, task_order order);
    /// Takes the task of an operation that the pool has abandoned or refused, such as an operation of a
    /// scheduler of std::execution. join() runs the task. Ends the program with a message after join(), and
    /// in the child of a fork(). Any thread may call keep().
    void keep(task* operation) noexcept;
    [[nodiscard]] bool wait_idle(const wait_limit& limit);
    /// Announces outstanding work. Outstanding work runs outside of the pool and posts its completion to the
    /// pool. join() waits until work_finished() has been called for this work. The pool may be destroyed
    /// before work_finished() has returned.
    void work_started() noexcept { entrance_.work_started(); }
    void work_finished() noexcept { entrance_.work_finished(); }
    [[nodiscard]] pool_entrance& entrance_of_posts() noexcept { return entrance_; }
    void pause() noexcept;
    void resume() noexcept;
    void stop() noexcept;
    [[nodiscard]] bool join(const wait_limit& limit);
    [[nodiscard]] thread_pool_metrics metrics() const;
    [[nodiscard]] std::string activity() const;
    void dump(int file, const execution_context& of) const noexcept;
    [[nodiscard]] bool is_in_forked_child() const noexcept {
        return (gate_.load(sys::relaxed) & gate_bit::forked) != 0;
    }
    /// If the calling thread is a worker of this pool, returns this worker. Otherwise returns null.
    [[nodiscard]] worker* this_worker() const noexcept;
    /// If the calling thread is a worker of a pool, returns that pool. Otherwise returns null. If the thread
    /// is a worker of several pools, returns the pool whose work it began last.
    [[nodiscard]] static thread_pool* of_this_thread() noexcept;
    [[nodiscard]] thread_pool& face() const noexcept { return face_; }
    [[nodiscard]] context_id id() const noexcept { return id_; }
    /// Returns true if every idle worker searches before it sleeps. Returns false if only the owner of the
    /// token searches.
    [[nodiscard]] bool all_search() const noexcept { return options_.spin_time.count() != 0; }
    /// Returns how long a worker searches before it sleeps, in ns.
    [[nodiscard]] std::uint64_t search_ns() const noexcept { return search_ns_; }
    /// Calls the handler on_unhandled_exception with the current exception.
    void report_unhandled(const char* type) noexcept;
    /// Throws std::system_error(operation_not_permitted) if this process is the child of a fork(), because
    /// the pool has no threads in the child.
    void refuse_in_child(const char* operation) const;
    /// The message that refuse_in_simulation() reports if a simulated thread uses a pool.
    static constexpr const char* no_simulation = "a thread_pool runs for real: use a sim_context in its "
                                                 "place, with .helps = true if tasks wait for results";
    /// Terminates the program. Called if one of the pool's own threads destroys the pool.
    [[noreturn]] void refuse_destruction_here() const noexcept;
    /// Reports to the program that the pool makes no progress. `threads` contains the indexes of the workers
    /// that the report describes.
    void report_stall(stall_report::reason why, std::span<const unsigned> threads) noexcept;
    /// Reports a slow task to the program. Called by the watch.
    void report_slow_task(const slow_task_report& report) noexcept;

    // ---- called by workers

    [[nodiscard]] const sys::atomic<std::uint32_t>& gate() const noexcept { return gate_; }
    [[nodiscard]] event_count& sleep() noexcept { return sleep_; }
    /// Called after a task was published. Ensures that a worker finds the task.
    void notify() noexcept {
        if (sleep_.notify()) [[unlikely]]
            thread_record::here().has_woken_a_worker = true;
    }
    [[nodiscard]] injection_queue& queue(priority level) noexcept {
        return queues_[static_cast<std::size_t>(level)];
    }
    [[nodiscard]] pool_threads& threads() noexcept { return threads_; }
    [[nodiscard]] wait_circles& circles() noexcept { return circles_; }
    /// Returns a token that stop() stops. A worker that waits without running tasks uses this token.
    [[nodiscard]] std::stop_token stop_of_deep_waits() const noexcept { return deep_waits_.get_token(); }
    [[nodiscard]] std::span<const std::unique_ptr<worker>> workers() const noexcept {
        return threads_.workers();
    }
    /// Called when a worker of this pool has started or woken up. Wakes the watch.
    void left_sleep() noexcept {
        if (watch_.has_value()) watch_->wake();
    }
    /// Removes the role of the calling thread, so that the thread works for no context. The child of a fork()
    /// calls this function. The child has no workers, even if a task called fork().
    static void forget_thread() noexcept;
    /// Returns true if a queue or the work source may contain a task.
    [[nodiscard]] bool has_work() const noexcept { return queued(1) != 0; }
    /// Returns how many tasks the queues may contain, but at most `most`, which must not be 0. The work of
    /// the work source counts as one task.
    [[nodiscard]] std::size_t queued(std::size_t most) const noexcept;
    /// Called by a worker that has no task and has executed a full fence. Wakes the threads that wait in
    /// wait_idle() and join().
    void announce_idle() noexcept;

    // ---- the work source

    /// Any thread: sets the only work source of the pool. The work source must live until the threads of the
    /// pool have ended.
    void set_source(work_source& source) noexcept;
    // The next three functions call the members of the work source. If the pool has no work source, these
    // functions find no work.
    [[nodiscard]] task* find_in_sources(unsigned w) noexcept;
    [[nodiscard]] bool sources_have_work() const noexcept;
    void ask_sources() noexcept;

private:
    void refuse_in_own_thread(const char* operation) const;
    /// accepted() returns how many tasks the pool has accepted. finished() returns how many of these tasks
    /// have been run or abandoned.
    [[nodiscard]] std::uint64_t accepted() const noexcept;
    [[nodiscard]] std::uint64_t finished() const noexcept;
    /// Returns true only if every accepted task has been run or abandoned.
    [[nodiscard]] bool is_idle() const noexcept;
    [[nodiscard]] bool block_until_idle(const wait_limit& limit) noexcept;
    [[nodiscard]] bool drain(const wait_limit& limit) noexcept;
    /// [PC1] Acquire: a later await_posts() waits for each post that has not seen the closed gate. Pairs with
    /// the release in stop().
    [[nodiscard]] bool has_stopped() const noexcept {
        return (gate_.load(sys::acquire) & gate_bit::stopped) != 0;
    }
    [[nodiscard]] injection_queue& checked_queue(priority level);
    void end_threads() noexcept;
    void run_kept(bool is_last) noexcept;
    /// The value of kept_ after join() has run the last kept task.
    [[nodiscard]] task* no_more() noexcept { return reinterpret_cast<task*>(this); }

    thread_pool& face_;
    const context_id id_;
    void (*const shut_down_services_)(thread_pool&) noexcept;
    const thread_pool_options options_;
    const std::uint64_t search_ns_;
    alignas(sys::isolation) sys::atomic<std::uint32_t> gate_{0}; // All threads read gate_. Few change it.
    sys::atomic<work_source*> source_{nullptr};
    pool_threads threads_;
    std::array<injection_queue, 3> queues_; // one queue for each priority
    wait_circles circles_;
    std::stop_source deep_waits_;
    event_count sleep_;
    std::optional<watch> watch_;
    binary_semaphore joining_{1};         // the thread that has the only permit ends the pool
    bool services_are_shut_down_ = false; // only the thread with the permit writes this member

    pool_entrance entrance_{gate_};
    sys::atomic<std::uint32_t> idle_waiters_{0};
    sys::atomic<std::uint32_t> idle_epoch_{0};
    sys::atomic<std::uint64_t> stalls_{0};
    sys::atomic<task*> kept_{nullptr}; // a stack of the tasks that join() runs, or no_more()
    sys::atomic<std::uint64_t> slow_tasks_{0};

    friend struct pool_list; // a pool_list contains all pools of the process, for fork()
    scheduler* older_ = nullptr;
    scheduler* newer_ = nullptr;
};

} // namespace ekiden::inline EKIDEN_ABI
