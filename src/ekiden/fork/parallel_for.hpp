/// A parallel loop over numbers.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/detail/forked_loop.hpp>
#include <ekiden/fork/detail/parallel_loop.hpp>

#include <concepts>
#include <functional>

namespace ekiden::inline EKIDEN_ABI {
namespace detail {

/// Runs a loop whose body takes a scope. `Run` is plain_run for a loop without options, and loop_run for a
/// loop with options.
template <class Run, class Tree, class Range, class Body>
bool for_forking_numbers(Run&& run, Tree* tree, Range numbers, Body& body) {
    auto call = [numbers, &body](fork_scope& scope, std::size_t place) {
        std::invoke(body, scope, numbers[place]);
    };
    forked_loop<Run, decltype(call)> loop(run, call);
    if (numbers.size != 0 && !run.is_over())
        detail::in_fork_tree(tree, [&](fork_scope& scope) { loop(scope, 0, numbers.size); });
    return !run.is_over();
}

/// `options...` is either empty or one loop_options.
template <class Tree, class First, class Last, class Body, class... Options>
bool for_numbers(Tree* tree, First first, Last last, Body& body, const Options&... options) {
    constexpr bool countable = can_be_bound<First> && can_be_bound<Last>;
    static_assert(countable,
                  "ekiden: parallel_for(first, last, body): the bounds must be integers of at most "
                  "64 bits, and not bool");
    if constexpr (countable) {
        using index = std::common_type_t<First, Last>;
        constexpr bool forks = std::invocable<Body&, fork_scope&, index>;
        constexpr bool can_be_called = forks || std::invocable<Body&, index>;
        static_assert(can_be_called, "ekiden: parallel_for(first, last, body): body must be callable as "
                                     "body(i) or body(scope, i) with a number of the common type of the "
                                     "bounds and a fork_scope&");
        const auto numbers = detail::numbers_between("parallel_for", first, last);
        if constexpr (forks && sizeof...(options) == 0) {
            return detail::for_forking_numbers(plain_run(), tree, numbers, body);
        } else if constexpr (forks) {
            return detail::for_forking_numbers(loop_run(options..., numbers.size), tree, numbers, body);
        } else if constexpr (can_be_called) {
            return detail::run_loop(tree, numbers.size, loop_options(options...),
                                    [numbers, &body](std::size_t from, std::size_t to) {
                                        for (; from != to; ++from) std::invoke(body, numbers[from]);
                                    });
        }
    }
    return false;
}

} // namespace detail

/// Calls `body(i)` for each number `i` in [first, last), in any order. This thread and workers of this_pool()
/// make the calls. Several calls may run at the same time.
///
/// The bounds are integers of at most 64 bits, and not bool. `i` has the common type of the bounds. One bound
/// may be signed and the other bound unsigned, as in parallel_for(0, v.size(), body). All threads share one
/// `body`. `body` must not wait for a task of the pool, for the reason that the comment of parallel_invoke()
/// explains. If `body` takes a fork_scope, the calls are `body(scope, i)`, and each call can fork further
/// calls. While one iteration of such a body runs, other threads may run all iterations that have not begun.
///
/// Returns false if a stop was requested through `options.stop` before the loop ended. Without a stop
/// request, makes all calls and returns true. No call is in progress after the return. If a call throws, the
/// iterations that have not begun are left out. When all calls that have begun have ended, throws the
/// exception of the call with the lowest number `i`. suppressed_exceptions() returns the other exceptions.
/// Throws std::invalid_argument before the first call if one bound is negative and the other bound is
/// unsigned. Also throws whatever default_pool() throws. Everything that the calls do happens before the
/// return.
///
/// If most of the recent loops with this body took less than 150 us, the next loop wakes no sleeping worker
/// during its first 150 us. After this time the loop wakes workers as soon as the current iteration has
/// ended. If the current iteration takes long, a worker joins the loop after at most 10 ms. Workers that are
/// awake join the loop immediately. An iteration must not wait for another iteration, because all iterations
/// may run one after the other in one thread.
template <std::integral First, std::integral Last, class Body>
bool parallel_for(First first, Last last, Body&& body, const loop_options& options = {}) {
    return detail::for_numbers(static_cast<thread_pool*>(nullptr), first, last, body, options);
}

/// Runs the loop like the overload without a pool, in this thread and in workers of `pool`.
template <std::integral First, std::integral Last, class Body>
bool parallel_for(thread_pool& pool, First first, Last last, Body&& body, const loop_options& options = {}) {
    return detail::for_numbers(&pool, first, last, body, options);
}

/// Runs the loop in the fork tree of `scope`. Use this overload in a callable that takes a scope. The
/// overload can fork a number of calls that is known only at run time.
template <std::integral First, std::integral Last, class Body>
bool parallel_for(fork_scope& scope, First first, Last last, Body&& body, const loop_options& options) {
    return detail::for_numbers(&scope, first, last, body, options);
}
/// Runs the loop in the fork tree of `scope`, without options. Returns true.
template <std::integral First, std::integral Last, class Body>
bool parallel_for(fork_scope& scope, First first, Last last, Body&& body) {
    return detail::for_numbers(&scope, first, last, body);
}

} // namespace ekiden::inline EKIDEN_ABI
