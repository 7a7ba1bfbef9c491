/// The pools of a round, the state of a thread or task in it, and the operations to choose from.
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

/// A pool and its accounts. It exists until the round's end. Its pool may have been joined earlier.
struct pool_slot {
    explicit pool_slot(generator& random, bool is_small);

    [[nodiscard]] ekiden::thread_pool& pool() noexcept { return *pool_; }
    /// Tasks of the pool may use it meanwhile.
    void destroy_pool() noexcept { owner_.reset(); }

    /// One thread runs its tasks, so the tasks of a producer begin in the order of their posts.
    bool is_single = false;
    /// Set before stop() is called.
    std::atomic<bool> stopped{false};
    /// Set before stop() or join() is called.
    std::atomic<bool> ending{false};
    std::atomic<std::int64_t> thrown{0};                       // exceptions of tasks without a future
    std::atomic<std::int64_t> handled{0};                      // exceptions that the pool's handler got
    std::array<tally, most_drivers> of_driver;                 // tasks whose ancestors are all in this pool
    std::array<std::uint64_t, most_drivers> posted_in_order{}; // only its driver writes it
    std::array<std::uint64_t, most_drivers> begun_in_order{};  // only the pool's only worker writes it

private:
    std::unique_ptr<ekiden::thread_pool> owner_;
    ekiden::thread_pool* const pool_;
};

/// The data that all threads of a round share, or the data of a thread or task with its own pools.
struct world {
    world(std::span<const std::unique_ptr<pool_slot>> of, unsigned levels)
        : pools(of), nesting(levels), records(levels == 0 ? 1U << 16U : 1U << 12U) {}

    /// Ends the pools and compares the accounts.
    void close(generator& random);

    const std::span<const std::unique_ptr<pool_slot>> pools;
    const unsigned nesting; // 0 if all threads of the round share the pools
    ledger records;
    tally loose; // tasks that no wait_idle() is compared with
};

struct waiting_future {
    ekiden::future<std::uint64_t> result;
    record* of;
    pool_slot* from;
    std::uint64_t value;
    bool may_throw;
};

/// The actor: a driver, which is an outside thread, or a task.
struct context {
    world& in;
    generator random;
    unsigned driver; // the driver itself, or the driver from which the task descends
    pool_slot* home; // the pool in which the task runs; null for a driver
    bool is_at_home; // whether all ancestors also run there
    unsigned depth;  // number of ancestors that are tasks
    std::vector<waiting_future> futures = {};

    [[nodiscard]] pool_slot& any_pool() {
        return *in.pools[random.below(static_cast<unsigned>(in.pools.size()))];
    }
    [[nodiscard]] bool is_task() const noexcept { return home != nullptr; }
};

/// Runs some operations as a task of `slot`. It may throw at the end.
struct task_body {
    world* in;
    std::uint64_t seed;
    unsigned driver;
    pool_slot* slot;
    bool is_at_home;
    unsigned depth;

    void operator()() const;
};

/// The next task of `by` for `slot`: its record and its body.
struct new_task {
    record* of; // null if the ledger is full
    task_body body;
};
[[nodiscard]] new_task make(context& by, pool_slot& slot, bool must_run);

/// Executes a few operations, and completes what they have left open.
void act(context& who, unsigned operations);
/// Gets the remaining results of the futures, or drops them.
void settle(context& who);
/// A round in separate pools, which `who` creates and destroys.
void run_in_own_pools(context& who, unsigned operations);

struct operation {
    const char* name;
    unsigned weight;
    enum : std::uint8_t { drivers = 1, tasks = 2, anybody = 3, first_driver = 4 };
    std::uint8_t by;
    void (*run)(context& who);
};
/// Each file has its own list.
[[nodiscard]] std::span<const operation> task_operations() noexcept;
[[nodiscard]] std::span<const operation> pool_operations() noexcept;
[[nodiscard]] std::span<const operation> fork_operations() noexcept;

/// Switches an operation off. Returns false if there is no such operation. By default, all are on.
bool switch_off(std::string_view name);
bool only(std::string_view name);

} // namespace pool_random
