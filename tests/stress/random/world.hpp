/// The pools of a round, what a thread or a task in it knows, and the operations to choose from.
#pragma once

#include "account.hpp"

#include <ekiden/ekiden.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

namespace pool_random {

inline constexpr unsigned most_drivers = 4;

/// Thrown by tasks on purpose.
struct marked {
    std::uint64_t mark;
};

/// A pool and what is known of it. Lives until the round's end; its pool may have been joined.
struct pool_slot {
    explicit pool_slot(generator& random, bool is_small);

    [[nodiscard]] ekiden::thread_pool& pool() noexcept { return *pool_; }
    /// Its tasks may use it meanwhile.
    void destroy_pool() noexcept { owner_.reset(); }

    /// One thread takes its tasks: then those of a producer begin in the order posted.
    bool is_single = false;
    /// Set before stop() is called.
    std::atomic<bool> stopped{false};
    /// Set before stop() or join() is called.
    std::atomic<bool> ending{false};
    std::atomic<std::int64_t> thrown{0};                       // by tasks without a future
    std::atomic<std::int64_t> handled{0};                      // by the pool's handler
    std::array<tally, most_drivers> of_driver;                 // tasks whose ancestors are all in this pool
    std::array<std::uint64_t, most_drivers> posted_in_order{}; // its driver's
    std::array<std::uint64_t, most_drivers> begun_in_order{};  // its only worker's

private:
    std::unique_ptr<ekiden::thread_pool> owner_;
    ekiden::thread_pool* const pool_;
};

/// What all of a round share, or what one thread or task does with pools of its own.
struct world {
    world(std::span<const std::unique_ptr<pool_slot>> of, unsigned levels)
        : pools(of), nesting(levels), records(levels == 0 ? 1U << 16U : 1U << 12U) {}

    /// Ends the pools, and compares the accounts.
    void close(generator& random);

    const std::span<const std::unique_ptr<pool_slot>> pools;
    const unsigned nesting; // 0: the pools are shared by all threads of the round
    ledger records;
    tally loose; // what no wait_idle() is compared with
};

struct waiting_future {
    ekiden::future<std::uint64_t> result;
    record* of;
    pool_slot* from;
    std::uint64_t value;
    bool may_throw;
};

/// What acts: a driver, which is a thread outside, or a task.
struct context {
    world& in;
    generator random;
    unsigned driver; // itself, or the one that the task goes back to
    pool_slot* home; // where the task runs; null for a driver
    bool is_at_home; // so do all its ancestors
    unsigned depth;  // of tasks that made tasks
    std::vector<waiting_future> futures = {};

    [[nodiscard]] pool_slot& any_pool() {
        return *in.pools[random.below(static_cast<unsigned>(in.pools.size()))];
    }
    [[nodiscard]] bool is_task() const noexcept { return home != nullptr; }
};

/// Runs some operations as a task of `slot`; the last thing is perhaps an exception.
struct task_body {
    world* in;
    std::uint64_t seed;
    unsigned driver;
    pool_slot* slot;
    bool is_at_home;
    unsigned depth;

    void operator()() const;
};

/// The next task of `by`, for `slot`: its record and its body.
struct new_task {
    record* of; // null: the ledger is full
    task_body body;
};
[[nodiscard]] new_task make(context& by, pool_slot& slot, bool must_run);

/// Does a few operations and ends what they have left open.
void act(context& who, unsigned operations);
/// Gets what is left of the futures, or drops it.
void settle(context& who);
/// A round in pools of its own, made and ended by `who`.
void run_in_own_pools(context& who, unsigned operations);

struct operation {
    const char* name;
    unsigned weight;
    enum : std::uint8_t { drivers = 1, tasks = 2, anybody = 3, first_driver = 4 };
    std::uint8_t by;
    void (*run)(context& who);
};
/// Of each file.
[[nodiscard]] std::span<const operation> task_operations() noexcept;
[[nodiscard]] std::span<const operation> pool_operations() noexcept;
[[nodiscard]] std::span<const operation> fork_operations() noexcept;

/// False if there is no such operation. Without a call all are on.
bool switch_off(std::string_view name);
bool only(std::string_view name);

} // namespace pool_random
