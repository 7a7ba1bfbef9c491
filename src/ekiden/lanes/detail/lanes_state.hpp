/// What lanes are apart from the types of key and executor: shards of active lanes, and the drains that run
/// them. The protocol and its proof: execution/detail/strand.md.
///
/// Part: lanes. Used by: lanes.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/execution/detail/batch_limit.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/lanes/detail/lane_lock.hpp>
#include <ekiden/lanes/detail/lane_table.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/queue/serial_queue.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// What a post does that finds no room.
enum class when_full : std::uint8_t {
    reject, ///< returns false
    /// Waits for room. Inside of one of these lanes, and where a timer posts, it does not wait: it posts
    /// beyond the capacity.
    block,
    drop_oldest, ///< abandons the oldest task that waits in this lane; if there is none, the new one
    drop_newest, ///< abandons the new task, and says true
};

struct lanes_options {
    std::size_t lane_capacity = 0; ///< the most tasks that wait in one lane; 0: no limit
    std::size_t capacity =
        0; ///< the most that wait in all lanes; 0: no limit. Costs a common lock for each task
    when_full policy = when_full::reject;
    /// Parts with a lock each, rounded up to a power of two; 0: one per usable processor, rounded down.
    unsigned shards = 0;
    unsigned delay_sampling = 16; ///< the delay of one task in so many is measured; 0: of none
};

/// Tasks linked through `next`.
class task_chain {
public:
    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

    /// The tasks that wait in a lane, all or the oldest one. The links are made already.
    void take_all(lane& from) noexcept;
    void take_one(lane& from) noexcept;
    /// Behind these.
    void append(task_chain&& others) noexcept;
    /// In front of those that wait in the lane.
    void put_back(lane& to) noexcept;
    [[nodiscard]] task* pop() noexcept {
        task* const oldest = first_;
        first_ = oldest == last_ ? nullptr : oldest->next.load(sys::relaxed);
        std::destroy_at(std::addressof(oldest->next));
        return oldest;
    }
    void push(task* last) noexcept;
    [[nodiscard]] std::uint32_t count() const noexcept;
    [[nodiscard]] bool contains(const task* wanted) const noexcept;
    /// Abandons all, in order; not under a lock. Returns how many.
    std::size_t abandon() noexcept;

private:
    task* first_ = nullptr;
    task* last_ = nullptr;
};

class lanes_state;
class simulated_thread;

/// A thread that waits for room in a lane, or in all, or until a lane is idle. It lies on its stack.
struct lane_waiter {
    lane_waiter* next = nullptr;
    lane::index where = lane::none;
    task* given = nullptr; ///< what it wants to post; null: it waits until the lane is idle
    promise<bool> done;
    // For room in all lanes. Its thread may run something meanwhile that waits for the same, above it: then
    // room for this one is of no use to anybody before that returns.
    const lanes_state* of = nullptr;
    lane_waiter* beneath = nullptr; ///< of the same thread, of any lanes
    lane_waiter* above = nullptr;   ///< of the same thread and lanes
    bool is_queued = false;
    bool has_room = false;
};

/// Waiters in the order of their coming.
class lane_waiters {
public:
    lane_waiters() = default;
    lane_waiters(const lane_waiters&) = delete;
    lane_waiters& operator=(const lane_waiters&) = delete;

    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    void push(lane_waiter& last) noexcept;
    [[nodiscard]] lane_waiter* pop() noexcept;
    /// The first one, or the one above all others of its thread, if that waits here too; or null.
    [[nodiscard]] lane_waiter* pop_topmost() noexcept;
    /// Takes this one out. Returns false if it is not among them any more.
    [[nodiscard]] bool remove(const lane_waiter& gone) noexcept;
    /// The first one at lane `where` that posts, or that does not; or null.
    [[nodiscard]] lane_waiter* pop_at(lane::index where, bool posts) noexcept;
    /// Tells all; not under a lock.
    void complete(bool value) noexcept;

private:
    lane_waiter* first_ = nullptr;
    lane_waiter** end_ = &first_;
};

/// A task that says for which lane it is; the key follows. What goes through a shard's inbox is one.
struct keyed_task : task {
    keyed_task(task::function answer, std::uint64_t mixed) noexcept
        : task(answer), hash(static_cast<std::uint32_t>(mixed)) {}

    std::uint32_t hash;     // what the table uses of it
    std::uint32_t when = 0; // it was posted, as lanes_state::time() counts; 0: it is not measured
};

/// A part of the keys. It is a task itself, its drain, which runs the lanes that are ready. The inbox is idle
/// when nobody has the drain: it is not queued, nor about to be, nor has a thread begun to run it that has
/// not given it up yet.
struct alignas(sys::isolation) lane_shard final : task {
    lane_shard(lanes_state& all, unsigned number, std::size_t entry_bytes);

    struct probe { // the delay of one task that waits
        lane::index where = lane::none;
        std::uint32_t ahead = 0; // tasks of its lane that are run before
        std::uint32_t since = 0;
    };

    serial_queue inbox; // any thread pushes; its consumer is the thread that has the lock

    alignas(sys::isolation) lane_lock lock; // guards what follows
    bool tasks_are_long = true;
    bool drain_is_queued = false; // by a thread that had the lock
    bool has_long_lane = false;   // one whose tasks were not all run in its turn
    lane::index first_ready = lane::none;
    lane::index last_ready = lane::none;
    lane_table table;
    std::uint64_t posted = 0;
    std::uint64_t ended = 0; // by running
    std::uint64_t dropped = 0;
    std::uint64_t rejected = 0;
    std::uint64_t beyond = 0;
    // To be ended by the thread that unlocks, outside of the lock:
    task_chain refused;         // to be abandoned
    std::exception_ptr failure; // why a lane could not be made for some of them, to be reported for each
    std::uint32_t failures = 0; // so many
    lane* gone = nullptr;       // entries that have left the table, whose keys still live
    lane_waiters waiters;
    std::array<probe, 4> probes{};
    lanes_state& all;
    const unsigned number;
};

class lanes_state {
public:
    lanes_state(const lanes_state&) = delete;
    lanes_state& operator=(const lanes_state&) = delete;

    using lock = std::unique_lock<lane_lock>;

    enum class outcome : std::uint8_t {
        accepted,
        refused, ///< and abandoned
        again,   ///< the post has room now: it begins anew
    };

    [[nodiscard]] lane_shard& shard_of(std::uint64_t hash) noexcept {
        return shards_[static_cast<std::size_t>(hash >> 32) & shard_mask_];
    }

    /// Whether a capacity is set: then tasks go to their lanes at once, by push(), else by way of an inbox.
    [[nodiscard]] bool is_bounded() const noexcept { return is_bounded_; }

    /// Takes a task of this state's type for keys over. False: it was refused, and abandoned. Throws what
    /// scheduling on the inner executor throws; the task has been abandoned then.
    bool enqueue(lane_shard& s, keyed_task* given, task_order order) {
        trace::detail::moment(trace::kind::queued, given);
        if (((reinterpret_cast<std::uintptr_t>(given) >> 6) * 0x9e3779b1U >> 8 & probe_mask_) == 0)
            given->when = time();
        // No other thread has the drain, then.
        return !s.inbox.push(given) || give_drain(s, order, given);
    }

    /// Under the lock of the shard, which it gives back: gives `given` to lane `i`. `has_room` after `again`.
    /// Throws as enqueue().
    [[nodiscard]] outcome push(lock guard, lane_shard& s, lane::index i, task* given, task_order order,
                               bool has_room);

    /// Under the lock: gives what is in the inbox to its lanes. False: not all, or a push is under way.
    [[nodiscard]] bool sort(lane_shard& s) noexcept;
    /// The same, with all that was pushed before this call.
    void sort_all(lane_shard& s) noexcept;
    /// After sorting, and after an entry may have been erased.
    static void unlock(lock& guard, lane_shard& s) noexcept {
        if (s.refused.empty() && s.gone == nullptr) [[likely]]
            guard.unlock();
        else
            end_outside(guard, s);
    }

    /// A task for claim(). Throws std::bad_alloc. Not used, it is abandoned.
    [[nodiscard]] static task* make_turn();
    /// If lane `i` is idle: gives it the task and, true, makes `turn` a task that runs the lane, which the
    /// caller gives to the inner executor. Otherwise nothing is done.
    /// Gives the lock back; the entry is not used by its caller.
    void leave_entry(lock guard, lane_shard& s, lane::index i) noexcept;
    [[nodiscard]] bool claim(lane_shard& s, lane::index i, task* given, task* turn) noexcept;

    // Under the lock, which they give back; the lane may be none. After sort_all().
    std::size_t close(lock guard, lane_shard& s, lane::index i) noexcept;
    /// Returns whether the lane was idle before `limit` was reached. Throws
    /// std::system_error(resource_deadlock_would_occur) inside of the lane.
    [[nodiscard]] bool wait_idle(lock guard, lane_shard& s, lane::index i, const wait_limit& limit);

    /// Throws std::system_error(operation_not_permitted) in the child of a fork(): another thread may have
    /// held a lock.
    void refuse_in_child(const char* operation) const {
        if (is_in_child()) [[unlikely]]
            throw_in_child(operation);
    }
    [[nodiscard]] bool is_in_child() const noexcept { return made_in_ != sys::fork_generation(); }

    void add_handle() noexcept { handles_.fetch_add(1, sys::relaxed); }
    void drop_handle() noexcept {
        // [LN1] acq_rel: what was done with this handle, for the last one; with all others, for this one.
        if (handles_.fetch_sub(1, sys::acq_rel) == 1) how_.end(*this);
    }

protected:
    /// What is different from type to type.
    struct operations {
        /// Gives the task to the inner executor, as accept() of that.
        bool (*schedule)(lanes_state&, task*, task_order);
        /// What metrics call the key, where they do not keep the key itself. Not under a lock.
        std::size_t (*name_of)(const lanes_state&, const lane&) noexcept;
        /// Destroys the key, not under a lock. Null: there is nothing to destroy.
        void (*end_key)(lane&) noexcept;
        /// The entry for the task's key; none, with lane_shard::failure, if it cannot be made.
        lane::index (*entry_for)(lane_shard&, keyed_task&) noexcept;
        /// Reports the exception that is being handled as one of a task.
        void (*report)(lanes_state&) noexcept;
        void (*note_delay)(lanes_state&, unsigned shard, const lane&, std::size_t name,
                           std::uint64_t ns) noexcept;
        void (*end)(lanes_state&) noexcept;
    };

    /// Throws std::bad_alloc, and std::invalid_argument for options that make no sense.
    lanes_state(const lanes_options& chosen, const operations& how, std::size_t entry_bytes,
                const execution_context& inner);
    ~lanes_state();

    /// Whether the inner context takes no more tasks.
    [[nodiscard]] bool takes_no_more() const noexcept { return inner_.refuses_tasks(); }

    /// Under room_lock_: whether there is room, which the caller has then.
    [[nodiscard]] bool take_room() noexcept;
    /// After outcome::again, when the post does not come after all.
    void return_room() noexcept;

    [[nodiscard]] unsigned shard_count() const noexcept { return static_cast<unsigned>(shard_mask_) + 1; }
    [[nodiscard]] lane_shard& shard(unsigned number) noexcept { return shards_[number]; }

private:
    friend struct lane_shard;
    struct turn_task;
    struct batch;

    static const char* answer_drain(task* drain, task_request request);

    void run_ready(lane_shard& s);
    void run_claimed(lane_shard& s, lane::index i);
    [[nodiscard]] static bool begin_turn(lane& here) noexcept;
    void choose_first(lane_shard& s, simulated_thread& simulation) noexcept;
    bool abandon_ready(lane_shard& s, const task* given, bool tells) noexcept;
    void abandon_claimed(lane_shard& s, lane::index i) noexcept;

    void run_some(lock& guard, lane_shard& s, bool& has_drain, bool is_kept);
    [[nodiscard]] bool run_lane(lock& guard, lane_shard& s, lane::index i, batch_limit& limit,
                                bool& has_drain, bool is_turn);
    [[nodiscard]] bool run_batch(lane& here, batch& taken, batch_limit& limit);
    void begin_batch(lane_shard& s, lane::index i, lane& here, batch& taken, bool is_turn) noexcept;
    void end_batch(lock& guard, lane_shard& s, lane::index i, batch& taken) noexcept;
    void leave(lock& guard, lane_shard& s, bool has_drain, task_order order);
    void leave_for_good(lock& guard, lane_shard& s, bool has_drain) noexcept;
    [[nodiscard]] bool keep_drain(lane_shard& s, bool has_drain) noexcept;

    void append(lane_shard& s, lane::index i, lane& here, task* given, std::uint32_t when) noexcept;
    [[nodiscard]] bool make_ready(lane_shard& s, lane::index i, lane& here) noexcept;
    static void link_ready(lane_shard& s, lane::index i, lane& here) noexcept;
    void give_to_lane(lane_shard& s, keyed_task& given) noexcept;
    [[nodiscard]] bool offer(lane_shard& s, task_order order, const task* given);
    [[nodiscard]] bool give_drain(lane_shard& s, task_order order, const task* given);
    [[nodiscard]] bool passes_on(lane_shard& s, task_order order) noexcept;
    void erase(lane_shard& s, lane::index i, lane_waiters& woken) noexcept;
    void erase_if_unused(lane_shard& s, lane::index i, lane_waiters& woken) noexcept;

    [[nodiscard]] outcome wait_for_lane(lock guard, lane_shard& s, task* given, lane::index i, bool has_room);
    [[nodiscard]] outcome wait_for_room(lock guard, lane_shard& s, lane::index i);
    static void end_outside(lock& guard, lane_shard& s) noexcept;
    static void drop_one(lane_shard& s, lane::index i, lane& here, task_chain& dropped) noexcept;
    [[nodiscard]] outcome refuse(lock guard, lane_shard& s, lane::index i, task* given, bool has_room);
    struct leavings;
    void drop_all(lane_shard& s, lane::index i, leavings& to) noexcept;
    [[nodiscard]] bool reserve_room() noexcept;
    void give_room(std::size_t count, lane_waiters& woken) noexcept;

    /// In units of 1024 ns; never 0.
    [[nodiscard]] static std::uint32_t time() noexcept {
        return static_cast<std::uint32_t>(now_here_ns() >> 10) | 1U;
    }
    static void begin_probe(lane_shard& s, lane::index i, lane& here, std::uint32_t since) noexcept;
    static lane_shard::probe& probe_of(lane_shard& s, lane::index i) noexcept;
    static void end_probe(lane_shard& s, lane::index i, lane& here) noexcept;
    [[noreturn]] void throw_in_child(const char* operation) const;

    const operations& how_;
    const execution_context& inner_;
    const std::size_t lane_capacity_;
    const std::size_t capacity_;
    const when_full policy_;
    const bool is_bounded_;
    const std::uint16_t made_in_ = sys::fork_generation();
    const std::uint64_t probe_mask_;
    const std::size_t shard_mask_;
    lane_shard* const shards_;
    // Handles, and drains and turns that are queued or run.
    sys::atomic<std::uint64_t> handles_{1};
    // How often a lane was closed that ran: the threads that run lanes look closer then.
    sys::atomic<std::uint32_t> closings_{0};

    sys::slow_lock room_lock_; // where there is a capacity of all
    std::size_t room_used_ = 0;
    lane_waiters room_wanted_;
};

} // namespace ekiden::inline EKIDEN_ABI
