/// The part of lanes that does not depend on the types of key and executor. This part consists of the shards
/// of active lanes, and of the drains that run the lanes. The page execution/detail/strand.md explains and
/// proves the protocol.
///
/// Part: lanes. Used by: lanes.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/execution/detail/batch_limit.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/lanes/detail/lane_lists.hpp>
#include <ekiden/lanes/detail/lane_lock.hpp>
#include <ekiden/lanes/detail/lane_request.hpp>
#include <ekiden/lanes/detail/lane_table.hpp>
#include <ekiden/lanes/lanes_options.hpp>
#include <ekiden/queue/serial_queue.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

namespace ekiden::inline EKIDEN_ABI {

class lanes_state;
class simulated_thread;

/// The lanes for a part of the keys. A shard is also a task, which is called its drain. The drain runs the
/// lanes that are ready. While the inbox is idle, the drain is not queued, and no thread runs the drain or is
/// about to queue it.
struct alignas(sys::isolation) lane_shard final : task {
    lane_shard();

    /// The tasks, waiters and lanes that a thread has removed under the lock. After the thread has unlocked,
    /// it abandons the tasks, completes the waiters and destroys the lanes. Destructors of tasks and keys may
    /// call any function, so they must not run under the lock.
    struct leftovers {
        task_list tasks;                  // tasks and claims to abandon
        lane_request* requests = nullptr; // requests to end, linked by runnable::next_ready
        lane_waiters released;
        lane* gone = nullptr;       // lanes to destroy, linked by lane::chain
        std::uint32_t failures = 0; // the number of failed tasks that must be reported
        std::exception_ptr failure; // the exception to report

        [[nodiscard]] bool empty() const noexcept {
            return tasks.is_empty() && requests == nullptr && released.empty() && gone == nullptr;
        }
    };

    serial_queue inbox; // any thread may push; only the owner of the lock may dequeue tasks
    spin_mutex order;   // owned during a push, as soon as a request had several keys

    alignas(sys::isolation) lane_lock lock; // guards all members below
    bool tasks_are_long = true;
    bool is_stalled = false;   // see sort()
    bool is_avoided = false;   // see stays_away()
    std::uint32_t threads = 0; // the number of drains that run lanes
    // The number of threads and queued drains that use the shard. Any thread may change it without the lock.
    sys::atomic<std::uint32_t> uses{0};
    ready_list ready;
    lane_table table;
    std::size_t resting = 0; // the number of lanes in the table that are unused and exist for their handles
    lane* unused = nullptr;  // a list of lanes that are reused for new keys, linked by lane::chain
    std::uint32_t unused_count = 0;
    std::uint64_t posted = 0;
    std::uint64_t run = 0;
    std::uint64_t dropped = 0;
    std::uint64_t rejected = 0;
    std::uint64_t beyond = 0;
    leftovers left;
    lane_waiters waiters;
    lanes_state* all = nullptr;
};

class lanes_state {
public:
    lanes_state(const lanes_state&) = delete;
    lanes_state& operator=(const lanes_state&) = delete;

    using lock = std::unique_lock<lane_lock>;

    [[nodiscard]] lane_shard& shard_of(std::uint64_t hash) noexcept {
        return shards_[static_cast<std::size_t>(hash >> 32) & shard_mask_];
    }

    /// Takes ownership of a task. Returns false if the task was refused and abandoned. Throws whatever the
    /// inner executor throws, and std::bad_alloc. If enqueue() throws, the task has been abandoned.
    bool enqueue(lane_shard& s, keyed_task* given, task_order order);
    /// Like the function above, for a request with several keys.
    bool enqueue(lane_request& given, task_order order);
    /// Removes the request of a turn that has not begun. Later requests no longer wait for it.
    void withdraw(lane_request& gone) noexcept;
    /// Counts a turn that begins. Functions may wait behind the turn, so the turn is outstanding work of the
    /// inner context.
    void begin_turn() noexcept {
        how_.work_started(*this);
        turns_.fetch_add(1, sys::relaxed);
    }
    /// Ends a turn that has begun.
    void end_turn(lane_request& ended) noexcept;
    /// Undoes begin_turn(), because the turn has been withdrawn.
    void forget_turn() noexcept {
        turns_.fetch_sub(1, sys::relaxed);
        how_.work_finished(*this);
    }
    /// Throws std::invalid_argument, because a list of keys belongs to other lanes.
    [[noreturn]] static void refuse_keys_of_others(const char* where);
    /// Throws std::invalid_argument, because a handle of lanes with a capacity has no executor.
    [[noreturn]] static void refuse_capacity();

    /// Adds a handle to a lane that is in the table. The caller must own the lock.
    void add_lane_handle(lane_shard& s, lane& of) noexcept;
    /// Removes a handle of a lane. Erases the lane if this was the last handle and the lane is idle.
    void drop_lane_handle(const known_lane& of) noexcept;

    /// If the lane of the task is idle, runs the task and returns true. Throws whatever the task throws. If
    /// the lane is not idle, returns false. In this case, the task still belongs to the caller. The caller
    /// must be a thread on which the inner executor may run functions.
    [[nodiscard]] bool runs_here(lane_shard& s, keyed_task* given);

    /// Moves all tasks that were pushed before this call from the inbox to their lanes. The caller must own
    /// the lock, and must release the lock with unlock().
    void sort_all(lane_shard& s) noexcept;
    /// Releases the lock. Then abandons the tasks, completes the waiters and destroys the lanes in `left`.
    static void unlock(lock& guard, lane_shard& s) noexcept {
        if (s.left.empty()) [[likely]]
            guard.unlock();
        else
            end_leftovers(guard, s);
    }

    // The caller must own the lock, must have called sort_all(), and passes the lock. `here` is the lane, or
    // null if the lane does not exist.
    std::size_t close(lock guard, lane_shard& s, lane* here) noexcept;
    /// Returns whether the lane was idle before `limit` was reached. Throws
    /// std::system_error(resource_deadlock_would_occur) if the caller is a function of the lane.
    [[nodiscard]] bool wait_idle(lock guard, lane_shard& s, lane* here, const wait_limit& limit);

    /// Throws std::system_error(operation_not_permitted) in the child of a fork(). In the child, a lock may
    /// be locked forever, because another thread owned the lock during the fork().
    void refuse_in_child(const char* operation) const {
        if (is_in_child()) [[unlikely]]
            throw_in_child(operation);
    }
    /// Returns whether the options limit the number of waiting functions.
    [[nodiscard]] bool has_capacity() const noexcept { return is_bounded_; }
    [[nodiscard]] bool is_in_child() const noexcept { return made_in_ != sys::fork_generation(); }
    /// Returns whether the inner context accepts no more tasks.
    [[nodiscard]] bool takes_no_more() const noexcept { return inner_.refuses_tasks(); }

    /// Returns the address that identifies a lane in a serial_scope. Functions that share a lane have another
    /// address than functions that have the lane alone.
    [[nodiscard]] static const void* scope_of(const lane& of, bool is_shared) noexcept {
        return reinterpret_cast<const char*>(&of) + (is_shared ? 1 : 0);
    }

    void add_handle() noexcept { handles_.fetch_add(1, sys::relaxed); }
    void drop_handle() noexcept {
        // [LN1] acq_rel. Release: publishes what was done through this handle. Acquire: the thread that drops
        // the last handle sees what was done through all other handles. Acquire before the last decrement:
        // await_posts() sees the pushes of all posts.
        std::uint64_t count = handles_.load(sys::acquire);
        do
            if (count == 1) await_posts();
        while (!handles_.compare_exchange_weak(count, count - 1, sys::acq_rel, sys::acquire));
        if (count == 1) how_.end(*this);
    }

protected:
    /// The functions that depend on the types of key and executor.
    struct operations {
        /// Gives a task to the inner executor, like accept() of an executor.
        bool (*schedule)(lanes_state&, task*, task_order);
        /// Call the function of the inner executor with the same name (on_work_started, on_work_finished).
        void (*work_started)(lanes_state&) noexcept;
        void (*work_finished)(lanes_state&) noexcept;
        /// Returns the lane of the task's key. The task must have a key. Adds a lane if the key has none. If
        /// the lane cannot be added, returns null and sets leftovers::failure.
        lane* (*lane_of)(lane_shard&, keyed_task&) noexcept;
        /// Destroys a lane and its key.
        void (*end_lane)(lane&) noexcept;
        /// True if keys have a trivial destructor. In this case, a shard keeps the memory of some erased
        /// lanes for new lanes.
        bool keeps_entries;
        /// Reports the current exception as an exception of a function of the lanes.
        void (*report)(lanes_state&) noexcept;
        /// Records how long a function has waited. The caller must be the thread that runs the lane, and must
        /// not own the lock.
        void (*note_delay)(lanes_state&, const lane&, std::uint64_t ns) noexcept;
        void (*end)(lanes_state&) noexcept;
    };

    /// Throws std::bad_alloc, and std::invalid_argument for options that are not allowed.
    lanes_state(const lanes_options& chosen, const operations& how, const execution_context& inner);
    ~lanes_state() = default;

    /// For each shard, acquires the lock, moves the tasks of the inbox to their lanes, and calls
    /// `use(shard)`.
    template <class Use>
    void use_shards(Use&& use) {
        for (std::size_t n = 0; n <= shard_mask_; ++n) {
            lock guard(shards_[n].lock);
            sort_all(shards_[n]);
            use(shards_[n]);
            unlock(guard, shards_[n]);
        }
    }

    /// Destroys the unused lanes that the shards keep. No other thread may use the lanes.
    void end_unused() noexcept;

    /// Throws std::invalid_argument if a request has too many keys.
    static void expect_key_count(std::size_t count, const char* where);

private:
    friend struct lane_shard;
    friend struct lane_claim;
    struct batch;
    struct post_wait;
    struct post_shard;
    struct home_shard;

    // ---- posts (lanes_intake.cpp)

    bool push(lane_shard& s, keyed_task* given, task_order order);
    /// Calls `push`, which pushes a task with one key to the inbox of the shard, and returns its result.
    template <class Push>
    [[nodiscard]] bool in_order(lane_shard& s, Push push) noexcept {
        // [LN2] Relaxed is enough, as the page execution/detail/strand.md explains.
        if (!has_several_.load(sys::relaxed) || EKIDEN_MUTANT(lanes_post_into_a_request)) [[likely]]
            return push();
        const std::lock_guard guard(s.order);
        return push();
    }
    [[nodiscard]] std::optional<bool> find_room(lane_shard& s, lane& here, const task& given,
                                                task_order order, std::optional<post_wait>& wait);
    [[nodiscard]] bool may_wait_for_room(task_order order) const noexcept;
    [[nodiscard]] std::optional<bool> without_room(lane_shard& s, lane& here, const task& given,
                                                   task_order order, std::optional<post_wait>& wait);
    void turn_away(lock& guard, lane_shard& s, lane& here, keyed_task* given) noexcept;
    void append(lane_shard& s, lane& here, keyed_task* given) noexcept;
    [[nodiscard]] bool sort(lane_shard& s) noexcept;
    [[nodiscard]] lane* lane_of(lane_shard& s, keyed_task& given) noexcept;
    void give_to_lane(lane_shard& s, keyed_task& given) noexcept;
    [[nodiscard]] bool offer(lane_shard& s, task_order order, const task* given);
    [[nodiscard]] bool give_drain(lane_shard& s, task_order order, const task* given);
    [[nodiscard]] bool passes_on(lane_shard& s, task_order order) noexcept;
    bool abandon_ready(lane_shard& s, const task* given, bool reports) noexcept;
    static void end_leftovers(lock& guard, lane_shard& s) noexcept;

    // ---- requests with several keys (lanes_requests.cpp)

    [[nodiscard]] bool rests_after_sorting(lane_shard& s) noexcept;
    void push_unbounded(lane_request& given, short_list<post_shard>& shards) noexcept;
    [[nodiscard]] std::optional<bool> push_bounded(lane_request& given, short_list<post_shard>& shards,
                                                   std::optional<post_wait>* waits, task_order order);
    static void grant(lane& here, lane_claim& given, ready_list& ready) noexcept;
    void run_request(lock& guard, lane_shard& s, lane_request& given, bool& has_drain);
    void run_within(lane_request& given, std::uint32_t n);
    void note_delay(lane_request& given) noexcept;
    [[nodiscard]] static bool is_closed(lane_request& given) noexcept;
    static void drop_function(lane_request& of) noexcept;
    static void end_dropped(lane_request& dropped) noexcept;
    void release_lanes(lane_request& ended, home_shard* home) noexcept;
    void release(lane_shard& s, lane_claim& ended, ready_list& ready) noexcept;
    void withdraw(lane_shard& s, lane_claim& gone) noexcept;

    // ---- the drain (lanes_state.cpp)

    /// Adds a use of the shard, for a drain that is queued or running. All uses of a shard count as one
    /// handle, so that the drains of busy shards do not contend for the count of handles. The caller must
    /// have a handle or a use.
    void add_use(lane_shard& s) noexcept {
        if (s.uses.fetch_add(1, sys::relaxed) == 0) add_handle();
    }
    void drop_use(lane_shard& s) noexcept {
        // [LN1] acq_rel, as in drop_handle(): the thread that drops the last use also drops the handle of the
        // shard, and sees what was done during all other uses.
        if (s.uses.fetch_sub(1, sys::acq_rel) == 1) drop_handle();
    }
    void await_posts() noexcept;
    static const char* answer_drain(task* drain, task_request request);
    void run_ready(lane_shard& s);
    [[nodiscard]] bool stays_away(lock& guard, lane_shard& s) noexcept;
    void run_some(lock& guard, lane_shard& s, bool& has_drain, bool is_kept);
    void choose_first(lane_shard& s, simulated_thread& simulation) noexcept;
    [[nodiscard]] bool run_taken(lock& guard, lane_shard& s, lane& here, batch& taken, batch_limit& limit,
                                 bool& has_drain);
    void begin_batch(lane_shard& s, lane& here, batch& taken) noexcept;
    [[nodiscard]] bool run_batch(const lane& here, batch& taken, batch_limit& limit);
    void settle(lane_shard& s, lane& here, ready_list& requests) noexcept;
    void settle(lane_shard& s, lane& here) noexcept { settle(s, here, s.ready); }
    void end_batch(lock& guard, lane_shard& s, lane& here, batch& taken) noexcept;
    [[nodiscard]] bool leave(lock& guard, lane_shard& s, bool has_drain) noexcept;
    void leave_for_good(lock& guard, lane_shard& s, bool has_drain) noexcept;
    [[nodiscard]] bool keep_drain(lane_shard& s, bool has_drain) noexcept;
    [[nodiscard]] static std::uint32_t drop(task_list from, task_list& to) noexcept;
    [[nodiscard]] static task_list take_staying(task_list& from, std::uint32_t& count) noexcept;
    std::uint32_t drop_all(lane_shard& s, lane& here, task_list& to) noexcept;
    void task_left(lane_shard& s, lane& here, const task& left) noexcept;
    void erase(lane_shard& s, lane& here) noexcept;

    /// Returns the time in units of 1024 ns. The result is never 0.
    [[nodiscard]] static std::uint32_t time() noexcept {
        return static_cast<std::uint32_t>(now_here_ns() >> 10) | 1U;
    }
    [[nodiscard]] bool is_measured() const noexcept;
    [[noreturn]] void throw_in_child(const char* operation) const;

    // The number of handles, plus the number of shards that are in use. Each post reads the members below, so
    // the count lies on a cache line of its own. It is the first member, because a derived class puts its own
    // members right behind the last member.
    alignas(sys::isolation) sys::atomic<std::uint64_t> handles_{1};
    alignas(sys::isolation) const operations& how_;
    const execution_context& inner_;
    const std::size_t lane_capacity_;
    const bool is_bounded_; // true if a capacity is set, so that posts add tasks directly to lanes
    const when_full policy_;
    const std::uint16_t made_in_ = sys::fork_generation();
    const std::uint64_t measured_below_; // a delay is measured if a random 32-bit number is below this limit
    const std::size_t shard_mask_;
    const std::unique_ptr<lane_shard[]> shards_;
    shared_room room_;
    sys::atomic<bool> has_several_{false}; // true if a request with several keys has been posted
    // The number of turns that last. Relaxed is enough, because a coroutine only needs to find its own turn.
    sys::atomic<std::uint32_t> turns_{0};
};

} // namespace ekiden::inline EKIDEN_ABI
