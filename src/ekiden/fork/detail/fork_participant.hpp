/// The participant: the fork-join state of one thread. The arena: the list of all participants of a pool.
///
/// Part: fork. Used by: fork_service, fork_join.cpp. Private. Each worker has one participant. fork_join.md
/// describes the protocol.
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

/// A part of a thread's stack. The root of a fork tree, or a stolen child, runs on this part of the stack. A
/// child that is forked in a segment is joined in the same segment. The thread publishes only children of its
/// innermost segment.
struct fork_segment {
    /// `taken` is the child that runs in the segment, or null for a root. If `quiet_until` is not 0, the
    /// segment wakes no sleeping worker before this time (in ns of sys::now_ns()), as long as a worker
    /// watches. If `quiet_until` is 0, the segment ends the quiet time of the segments that enclose it.
    fork_segment(fork_participant& owner, fork_child* taken, std::uint64_t quiet_until = 0) noexcept;
    ~fork_segment();
    fork_segment(const fork_segment&) = delete;
    fork_segment& operator=(const fork_segment&) = delete;

    struct base_scope final : fork_scope {
        using fork_scope::fork_scope;
    };

    fork_participant& participant;
    base_scope base;
    fork_scope* newest_published; // the newest published child, or `base` if none; newer children are private
    fork_child* const piece;
    fork_segment* const outer;
    const bool was_quiet; // true if the participant was quiet before this segment began
    bool is_in_wait;      // true if a call of this segment or of an outer one waits for a result
};

/// The fork-join state of one thread. A participant lives as long as its pool, so other threads may access it
/// at any time. Any thread may call the functions marked "any thread". Only the participant's own thread may
/// call the other functions.
class fork_participant final : public fork_request {
public:
    explicit fork_participant(fork_arena& arena) noexcept : arena_(arena) {}

    /// Steals a child that another thread has published, or returns null. The caller must call run() for this
    /// child.
    [[nodiscard]] fork_child* find() noexcept;

    /// Runs a child that this participant has stolen.
    void run(fork_child& taken) noexcept;
    /// Runs a stolen child in a worker. The worker may be waiting for a result inside another call.
    void run_as_worker(fork_child& taken) noexcept;

    [[nodiscard]] fork_arena& arena() const noexcept { return arena_; }
    [[nodiscard]] bool is_in_tree() const noexcept { return innermost_.read() != nullptr; }

    /// Any thread: requests a child. Does not write if the flag is already `wanted`.
    void ask() noexcept {
        if (asked.load(sys::relaxed) != wanted) asked.store(wanted, sys::relaxed); // [AS1]
    }

    /// Any thread: requests that the next fork publishes a child, unless another child is already published.
    void ask_to_restock() noexcept {
        std::uint32_t now = nothing; // so that the exchange does not overwrite the request `wanted`
        (void)asked.compare_exchange_strong(now, restock, sys::relaxed, sys::relaxed);
    }

    /// Any thread: returns whether this participant may have a child to steal. The answer is a hint.
    [[nodiscard]] bool maybe_offers() const noexcept { return ring_.size() != 0; }

private:
    friend class fork_scope;
    friend class fork_child;
    friend struct fork_segment;
    friend class fork_arena;

    bool share(fork_scope& newest) noexcept;
    void publish_all(fork_scope& newest) noexcept;
    [[nodiscard]] bool publish_oldest() noexcept;
    void wake_workers() noexcept;
    [[nodiscard]] bool is_quiet() noexcept;
    void end_quiet() noexcept;
    [[nodiscard]] fork_child* sleeping_parent() const noexcept;

    void wait_for(fork_child& child) noexcept;
    [[nodiscard]] static bool may_find_inside(const fork_child& child) noexcept;
    [[nodiscard]] static fork_child* find_inside(const fork_child& child) noexcept;
    [[nodiscard]] static bool spin_for(const fork_child& child) noexcept;
    void sleep_for(fork_child& child, bool helps) noexcept;

    static constexpr std::uint64_t many_children = 4; // see wake_workers()

    fork_arena& arena_;
    sys::cell<fork_segment*> innermost_{nullptr}; // only the participant's thread uses this
    fork_participant* victim_ = nullptr;          // the last participant from which this thread has stolen
    std::uint64_t quiet_until_ns_ = 0;            // 0 if published children wake workers immediately
    fork_deque ring_;
    sys::parker parker_; // May hold the token of an earlier unpark(), so a sleep may end early.
    // The arena uses the three members below. `next_` and `is_guest_` are constant once the participant is in
    // the arena's list.
    sys::atomic<bool> is_taken_{false}; // true while a guest uses this participant
    bool is_guest_ = false;
    fork_participant* next_ = nullptr;
};

/// All participants of a pool. Each worker has a participant. Guests borrow the other participants.
class fork_arena {
public:
    explicit fork_arena(event_count& sleep) noexcept : sleep_(sleep), born_(sys::fork_generation()) {}

    fork_arena(const fork_arena&) = delete;
    fork_arena& operator=(const fork_arena&) = delete;

    /// Returns whether this process is the child of a fork() that happened after the construction of the
    /// arena. The threads of the pool do not exist in such a process.
    [[nodiscard]] bool is_in_forked_child() const noexcept { return born_ != sys::fork_generation(); }

    /// Adds a participant. The participant must live as long as the arena.
    void add(fork_participant& participant) noexcept;

    /// Returns a participant for a guest. A guest is a thread that is not a worker. Throws std::bad_alloc.
    [[nodiscard]] fork_participant& enter();
    static void leave(fork_participant& participant) noexcept;

    /// Returns whether a participant may have a child to steal. The answer is a hint, unless fences order
    /// this call after the publication of the child.
    [[nodiscard]] bool has_offer() const noexcept;

    /// Calls ask() for every participant.
    void ask_all() noexcept;

private:
    friend class fork_participant;

    /// Returns the first participant before `end` for which `test` returns true, or null. Needs no lock,
    /// because the list only grows.
    template <class Test>
    fork_participant* first_of(Test&& test, const fork_participant* end = nullptr) const noexcept {
        // [GU1] Acquire: makes the participant visible. Pairs with the release in add().
        for (fork_participant* p = newest_.load(sys::acquire); p != end; p = p->next_) {
            if (test(*p)) return p;
        }
        return nullptr;
    }

    /// Like first_of(), but begins behind `start` and goes round the list. `start` itself, which must be in
    /// the list, is the last one.
    template <class Test>
    fork_participant* first_behind(const fork_participant& start, Test&& test) const noexcept {
        // [GU1] The exchange in add() has made the older participants visible.
        for (fork_participant* p = start.next_; p != nullptr; p = p->next_) {
            if (test(*p)) return p;
        }
        return first_of(test, start.next_);
    }

    event_count& sleep_;
    const std::uint16_t born_;
    sys::slow_lock guests_lock_;
    std::vector<std::unique_ptr<fork_participant>> guests_; // under guests_lock_
    alignas(sys::isolation) sys::atomic<fork_participant*> newest_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI
