/// The fork-join state of one thread, and the list of all such states of a pool.
///
/// Part: fork. Used by: fork_service (one participant for each worker), fork_join.cpp. Private. The protocol:
/// fork_join.md.
#pragma once

#include <ekiden/fork/detail/fork_deque.hpp>
#include <ekiden/fork/fork_join.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/parker.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

class event_count;
class fork_arena;

/// A part of a thread's stack: the root of a fork tree, or a child of another thread. A child that is forked
/// in a segment is joined in it. The thread publishes only children of its innermost segment.
struct fork_segment {
    /// `taken` is the child that runs here, or null for a root. A root with a `quiet_until` wakes no sleeping
    /// worker before that time (in ns of sys::now_ns()), as long as a worker watches. Without it, the segment
    /// ends the quiet of the segments outside of it.
    fork_segment(fork_participant& owner, fork_child* taken, std::uint64_t quiet_until = 0) noexcept;
    ~fork_segment();
    fork_segment(const fork_segment&) = delete;
    fork_segment& operator=(const fork_segment&) = delete;

    struct base_scope final : fork_scope {
        using fork_scope::fork_scope;
    };

    fork_participant& participant;
    base_scope base;
    fork_scope* newest_published; // the base if no child is published; newer children are private
    fork_child* const piece;
    fork_segment* const outer;
    const bool was_quiet; // the participant, before this segment
    bool is_in_wait; // a call of this segment, or of an outer one, waits for a result and runs another task
};

/// Type-stable: a participant lives as long as its pool. Only its own thread calls the functions that are not
/// marked "any thread".
class fork_participant final : public fork_request {
public:
    explicit fork_participant(fork_arena& arena) noexcept : arena_(arena) {}

    /// Steals a child that another thread has published, or returns null. The caller must run() the child.
    [[nodiscard]] fork_child* find() noexcept;

    /// Runs a child that this participant has stolen.
    void run(fork_child& taken) noexcept;
    /// Runs it in a worker, which may wait for a result inside of a call.
    void run_as_worker(fork_child& taken) noexcept;

    [[nodiscard]] fork_arena& arena() const noexcept { return arena_; }
    [[nodiscard]] bool is_in_tree() const noexcept { return innermost_.read() != nullptr; }

    /// Any thread: requests a child. Writes only if no request is set.
    void ask() noexcept {
        if (asked.load(sys::relaxed) != wanted) asked.store(wanted, sys::relaxed); // [AS1]
    }

    /// Any thread: requests that the next fork publishes a child if no other child is published.
    void ask_to_restock() noexcept {
        std::uint32_t now = nothing; // keeps a stronger request
        (void)asked.compare_exchange_strong(now, restock, sys::relaxed, sys::relaxed);
    }

    /// Any thread: returns whether there may be a child to steal. A hint.
    [[nodiscard]] bool maybe_offers() const noexcept { return ring_.size() != 0; }

private:
    friend class fork_scope;
    friend class fork_child;
    friend struct fork_segment;
    friend class fork_arena;

    bool share(fork_scope& newest) noexcept;
    void publish_all(fork_scope& newest) noexcept;
    [[nodiscard]] bool publish_oldest() noexcept;
    [[nodiscard]] bool is_quiet() noexcept;
    void end_quiet() noexcept;
    [[nodiscard]] fork_child* sleeping_parent() const noexcept;

    void wait_for(fork_child& child) noexcept;
    [[nodiscard]] static bool may_find_inside(const fork_child& child) noexcept;
    [[nodiscard]] static fork_child* find_inside(const fork_child& child) noexcept;
    [[nodiscard]] static bool spin_for(const fork_child& child) noexcept;
    void sleep_for(fork_child& child) noexcept;

    fork_arena& arena_;
    sys::cell<fork_segment*> innermost_{
        nullptr};                        // of the participant's thread; a guest leaves it to the next one
    fork_participant* victim_ = nullptr; // the last participant from which this thread has stolen
    std::uint64_t quiet_until_ns_ = 0;   // 0: a published child wakes workers
    fork_deque ring_;
    sys::parker parker_; // may hold an old token for which no thread waits
    // Of the arena. `next_` and `is_guest_` are constant once the participant is in its list.
    sys::atomic<bool> is_taken_{false}; // a thread uses this guest's participant
    bool is_guest_ = false;
    fork_participant* next_ = nullptr;
};

/// All participants of a pool: those of its workers, and those that guests borrow.
class fork_arena {
public:
    explicit fork_arena(event_count& sleep) noexcept : sleep_(sleep), born_(sys::fork_generation()) {}

    fork_arena(const fork_arena&) = delete;
    fork_arena& operator=(const fork_arena&) = delete;

    /// Returns whether this process is a child of fork() that has no threads of the pool.
    [[nodiscard]] bool is_in_forked_child() const noexcept { return born_ != sys::fork_generation(); }

    /// Adds a participant, which must live as long as the arena.
    void add(fork_participant& participant) noexcept;

    /// Returns a participant for a thread that is no worker. Throws std::bad_alloc.
    [[nodiscard]] fork_participant& enter();
    static void leave(fork_participant& participant) noexcept;

    /// Returns whether a participant may have a child to steal. A hint, except for the order that the
    /// caller's fences give.
    [[nodiscard]] bool has_offer() const noexcept;

    /// Calls ask() for every participant.
    void ask_all() noexcept;

private:
    friend class fork_participant;

    /// Returns the first participant for which `test` returns true, or null. Needs no lock, because the list
    /// only grows.
    template <class Test>
    fork_participant* first_of(Test&& test) const noexcept {
        // [GU1] Acquire: the participant. Pairs with the release in add().
        for (fork_participant* p = newest_.load(sys::acquire); p != nullptr; p = p->next_) {
            if (test(*p)) return p;
        }
        return nullptr;
    }

    event_count& sleep_;
    const std::uint16_t born_;
    sys::slow_lock guests_lock_;
    std::vector<std::unique_ptr<fork_participant>> guests_; // under guests_lock_
    alignas(sys::isolation) sys::atomic<fork_participant*> newest_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI
