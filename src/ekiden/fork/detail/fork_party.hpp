/// One thread's part in fork-join: what it has published, what it is inside of, how it waits.
///
/// Part: fork. Used by: fork_service (one for each worker), fork_join.cpp. Private. The protocol:
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
struct fork_member;

/// A stretch of a thread's stack: the root of a fork tree, or a child of another thread. Children that were
/// forked in one segment are joined in it; only those of the innermost one are given away.
struct fork_segment {
    /// `taken`: the child that runs here, null for a root. `quiet_until`: wakes nobody before that time, in
    /// ns of sys::now_ns().
    fork_segment(fork_party& owner, fork_child* taken, std::uint64_t quiet_until = 0) noexcept;
    ~fork_segment();
    fork_segment(const fork_segment&) = delete;
    fork_segment& operator=(const fork_segment&) = delete;

    struct base_scope final : fork_scope {
        using fork_scope::fork_scope;
    };

    fork_party& party;
    base_scope base;
    fork_scope* newest_published; // the base if there is none; the children newer than that are private
    fork_child* const piece;
    fork_segment* const outer;
    std::uint64_t quiet_until_ns; // 0 from then on
    bool is_in_wait; // a call of it, or of an outer one, waits for a result, and its thread runs another one
};

/// Type-stable: it lives as long as its pool. Its thread calls everything but the functions marked otherwise.
class fork_party final : public fork_request {
public:
    explicit fork_party(fork_arena& arena) noexcept : arena_(arena) {}

    /// Takes a child that somebody has published, or returns null. It must be run().
    [[nodiscard]] fork_child* find() noexcept;

    /// Runs a child that this party has taken.
    void run(fork_child& taken) noexcept;
    /// The same for its thread as a worker, which may wait for a result inside of a call.
    void run_as_worker(fork_child& taken) noexcept;

    [[nodiscard]] fork_arena& arena() const noexcept { return arena_; }
    [[nodiscard]] bool is_in_tree() const noexcept { return innermost_.read() != nullptr; }

    /// A tree that begins `now`: returns when it may wake workers if it is expected to be short. That is a
    /// wake-up's time after the first of those that follow each other so closely that a worker that has been
    /// woken for one would be awake for the next.
    [[nodiscard]] std::uint64_t begin_tree(std::uint64_t now) noexcept;
    void end_tree(std::uint64_t now) noexcept { last_tree_ns_ = now; }

    /// Any thread: asks the party to publish what it has. Costs a write only if nobody has asked.
    void ask() noexcept {
        if (asked.load(sys::relaxed) != wanted) asked.store(wanted, sys::relaxed); // [AS1]
    }

    /// Any thread: has the next fork published if nothing else is.
    void ask_to_restock() noexcept {
        std::uint32_t now = nothing; // a request that stands is not weakened
        (void)asked.compare_exchange_strong(now, restock, sys::relaxed, sys::relaxed);
    }

    /// Any thread: whether there may be a child to take. A hint.
    [[nodiscard]] bool maybe_offers() const noexcept { return ring_.size() != 0; }

private:
    friend class fork_scope;
    friend class fork_child;
    friend struct fork_segment;
    friend class fork_arena;

    bool share(fork_scope& newest) noexcept;
    void publish_all(fork_scope& newest) noexcept;
    [[nodiscard]] bool publish(fork_child& oldest, fork_scope& older) noexcept;
    [[nodiscard]] bool is_quiet() noexcept;
    [[nodiscard]] fork_child* sleeping_parent() const noexcept;

    void wait_for(fork_child& child) noexcept;
    [[nodiscard]] static bool may_find_inside(const fork_child& child) noexcept;
    [[nodiscard]] static fork_child* find_inside(const fork_child& child) noexcept;
    [[nodiscard]] static bool spin_for(const fork_child& child) noexcept;
    void sleep_for(fork_child& child) noexcept;

    fork_arena& arena_;
    sys::cell<fork_segment*> innermost_{nullptr}; // its thread's; the next guest takes it over
    const fork_member* victim_ = nullptr;         // who had something last
    std::uint64_t first_tree_ns_ = 0;             // when the first of the trees that follow each other began
    std::uint64_t last_tree_ns_ = 0;              // when the last one ended
    static constexpr std::uint64_t all_told = ~std::uint64_t{0};
    std::uint64_t untold_until_ns_ = all_told; // when to wake a worker for what was published quietly
    fork_deque ring_;
    sys::parker parker_;                // may hold a token that nobody waits for any more
    sys::atomic<bool> is_taken_{false}; // of a guest's party
};

/// A party in the list of its arena.
struct fork_member {
    fork_party* party;
    std::unique_ptr<fork_party> guest; // null for a worker's
    fork_member* next = nullptr;
};

/// All parties of a pool: its workers' and its guests'.
class fork_arena {
public:
    /// `look_ns`: how long a worker that has been woken looks for more work at least.
    fork_arena(event_count& sleep, std::uint64_t look_ns) noexcept
        : sleep_(sleep), look_ns_(look_ns), born_(sys::fork_generation()) {}

    /// Whether the other parties' threads do not exist in this process.
    [[nodiscard]] bool is_in_forked_child() const noexcept { return born_ != sys::fork_generation(); }

    fork_arena(const fork_arena&) = delete;
    fork_arena& operator=(const fork_arena&) = delete;

    /// The party stays as long as the arena. Throws std::bad_alloc.
    void add_worker(fork_party& party);

    /// A party for a thread that is no worker. Throws std::bad_alloc.
    [[nodiscard]] fork_party& enter();
    static void leave(fork_party& party) noexcept;

    /// Whether somebody may find a child. A hint, but for the order that the caller's fences give.
    [[nodiscard]] bool has_offer() const noexcept;

    /// Asks every party.
    void ask_all() noexcept;

    /// event_count::wake_up_ns() and is_watched() of the workers.
    [[nodiscard]] std::uint64_t wake_up_ns() const noexcept;
    [[nodiscard]] bool is_watched() noexcept;

private:
    friend class fork_party;

    /// The first party that `visit` says true of, or null. Needs no lock: the list only grows.
    template <class Visit>
    const fork_member* first_of(Visit&& visit) const noexcept {
        // [GU1] acquire; pairs with the release in add().
        for (const fork_member* m = members_.load(sys::acquire); m != nullptr; m = m->next) {
            if (visit(*m)) return m;
        }
        return nullptr;
    }
    void add(std::unique_ptr<fork_member> fresh);

    event_count& sleep_;
    const std::uint64_t look_ns_;
    const std::uint16_t born_;
    sys::slow_lock growing_;
    std::vector<std::unique_ptr<fork_member>> owned_; // under growing_
    alignas(sys::isolation) sys::atomic<fork_member*> members_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI
