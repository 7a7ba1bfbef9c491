/// A random program as data: its contexts, the places that accept callables, and a tree of actions.
///
/// A plan is a function of its seed and its size. Actions that are switched off or masked stay in the plan
/// and are skipped when it runs. So a failure can be shrunk while the rest of the program stays the same.
#pragma once

#include <ekiden/ekiden.hpp>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace seams {

/// What an action does. The table in plan.cpp has names and weights.
enum class kind : std::uint8_t {
    post,
    defer,
    dispatch,
    post_last,
    repost,
    bulk,
    submit,
    get,
    then,
    group,
    fork,
    parallel_loop,
    reduce,
    timer,
    guard,
    spawn,
    sync_wait,
    block,
    await_deferred,
    await_timer,
    locked,
    throws,
    thread_end,
    close,
    lane_idle,
    pool_idle,
    metrics,
    pause,
    stop,
    end,
    fork_process,
    request,
    co_yield_,
    co_sleep,
    co_hop,
    co_lock,
    co_future,
    co_scope,
    co_owner,
    co_waiters,
    co_timeout,
    co_any,
    co_view,
};
inline constexpr unsigned kinds = static_cast<unsigned>(kind::co_view) + 1;

/// Properties of a plan that a switch turns off, like a kind of action.
enum class trait : std::uint8_t {
    surplus,         ///< pools with max_threads above threads
    callback,        ///< destructors of callables that post
    key_callback,    ///< destructors of keys that post
    flaky,           ///< inner executors of lanes that throw
    capacity,        ///< lanes with capacities
    block_policy,    ///< lanes whose posts wait for room
    abrupt,          ///< contexts that end by stop() or with work outstanding
    plain_order,     ///< the check of the order of plain posts
    stop_check,      ///< the check for tasks that begin or are accepted after stop()
    pause_check,     ///< the check for tasks that begin after pause()
    call_check,      ///< the check which function may run inside which call
    cross_home,      ///< coroutines that move to another context
    refusing_hop,    ///< coroutines that move to a place that may refuse them
    then_outlives,   ///< continuations whose pool may end first
    full_timer,      ///< timers whose handlers are bound to a lane that makes posts wait
    lane_bulk,       ///< post_bulk() on lanes with capacities
    strand_dispatch, ///< dispatch() to strands
    stopped_wait,    ///< sync_wait() on a pool that may stop meanwhile
    special,         ///< programs in separate processes, see special.cpp
    simulated,       ///< programs in virtual time, see simulated.cpp; off by default under ThreadSanitizer
};
inline constexpr unsigned traits = static_cast<unsigned>(trait::simulated) + 1;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SEAMS_UNDER_TSAN
#endif
#endif
#if defined(SEAMS_UNDER_TSAN) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_under_tsan = true;
#else
inline constexpr bool is_under_tsan = false;
#endif

struct action {
    kind what;
    unsigned index = 0;         ///< index in the plan, for masks
    unsigned place = 0;         ///< where it posts
    unsigned context = 0;       ///< the context of the action
    std::uint32_t number = 0;   ///< a drawn number that decides the details
    bool throws = false;        ///< its callable throws at its end
    bool calls_back = false;    ///< its callable's destructor posts
    std::vector<action> body{}; ///< what its callable does
};

struct context_plan {
    enum class type : std::uint8_t { pool, loop, loop_pool, simulated };
    type what = type::pool;
    unsigned threads = 1;
    unsigned max_threads = 0;
    int keep_alive_ms = 10'000;
    int watch_ms = 0;
    int spin_us = 0;
    int hint = 1;             ///< of a loop context
    bool is_graceful = true;  ///< ends only after all accepted tasks have run
    bool ends_early = false;  ///< one of the actions ends it
    bool is_paused = false;   ///< some actions pause it
    bool joins_first = false; ///< join() is called before the destructor
};

struct lanes_plan {
    unsigned context = 0;
    unsigned lane_capacity = 0;
    unsigned capacity = 0;
    ekiden::when_full policy = ekiden::when_full::reject;
    unsigned shards = 1;
    unsigned fails_each = 0; ///< the inner executor throws at each n-th call; 0: never
    bool keys_call_back = false;
};

struct place_plan {
    enum class type : std::uint8_t { plain, strand, lane };
    type what = type::plain;
    unsigned context = 0;
    unsigned number = 0; ///< of the loop in a loop pool, or of the group of lanes
    int key = 0;
};

struct plan {
    std::uint64_t seed = 0;
    std::vector<context_plan> contexts;
    std::vector<lanes_plan> groups;
    std::vector<place_plan> places;
    std::vector<std::vector<action>> drivers;
    unsigned actions = 0;
    bool is_graceful = true;   ///< whether this holds for all contexts
    bool is_simulated = false; ///< whether this holds for all contexts
    std::uint64_t end_order = 0;
};

/// The switches of the whole process, and the actions of the plan that are masked.
struct switches {
    std::array<bool, kinds> kind_off{};
    std::array<bool, traits> trait_off{};
    std::set<unsigned> masked;

    [[nodiscard]] bool is_on(kind k) const noexcept { return !kind_off[static_cast<unsigned>(k)]; }
    [[nodiscard]] bool is_on(trait t) const noexcept { return !trait_off[static_cast<unsigned>(t)]; }
    [[nodiscard]] bool is_on(const action& a) const {
        return is_on(a.what) && (masked.empty() || !masked.contains(a.index));
    }
    /// Returns false if neither a kind nor a trait has this name.
    bool turn(std::string_view name, bool is_off);
};
[[nodiscard]] switches& chosen() noexcept;

[[nodiscard]] std::string_view name_of(kind k) noexcept;
[[nodiscard]] std::string all_names();

/// Makes the plan of a seed. `most` is the largest number of actions.
[[nodiscard]] plan make_plan(std::uint64_t seed, unsigned most);
/// Returns the plan as text for readers.
[[nodiscard]] std::string text_of(const plan& p);

} // namespace seams
