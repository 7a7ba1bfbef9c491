/// A loop over numbers whose iterations may run in parallel.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/forked_loop.hpp>
#include <ekiden/fork/parallel_loop.hpp>

#include <concepts>
#include <functional>

namespace ekiden::inline EKIDEN_ABI {
namespace detail {

/// `body` forks: each of its calls may be long.
template <class Tree, class Range, class Body>
bool for_forking_numbers(Tree* tree, Range numbers, Body& body, const loop_options& options) {
    auto call = [numbers, &body](fork_scope& scope, std::size_t place) {
        std::invoke(body, scope, numbers[place]);
    };
    loop_run run(options, numbers.size);
    forked_loop<loop_run&, decltype(call)> loop(run, call);
    if (numbers.size != 0 && !run.is_over())
        in_fork_tree(tree, [&](fork_scope& scope) { loop(scope, 0, numbers.size); });
    return !run.is_over();
}

template <class Range, class Body>
bool for_forking_numbers(fork_scope* scope, Range numbers, Body& body) {
    auto call = [numbers, &body](fork_scope& inner, std::size_t place) {
        std::invoke(body, inner, numbers[place]);
    };
    forked_loop<plain_run, decltype(call)> loop(call);
    loop(*scope, 0, numbers.size);
    return true;
}

/// `options...`: one, or none.
template <class Tree, class First, class Last, class Body, class... Options>
bool for_numbers(Tree* tree, First first, Last last, Body& body, const Options&... options) {
    constexpr bool comparable = same_signedness<First, Last>;
    static_assert(comparable, "ekiden: parallel_for(first, last, body): both bounds must be signed or both "
                              "unsigned, such as std::size_t{0} and v.size()");
    constexpr bool countable = can_be_bound<First> && can_be_bound<Last>;
    static_assert(countable,
                  "ekiden: parallel_for(first, last, body): the bounds must be integers of at most "
                  "64 bits, and not bool");
    if constexpr (comparable && countable) {
        using range = number_range<First, Last>;
        using index = typename range::index;
        constexpr bool forks = std::invocable<Body&, fork_scope&, index>;
        constexpr bool can_be_called = forks || std::invocable<Body&, index>;
        static_assert(can_be_called, "ekiden: parallel_for(first, last, body): body must be callable as "
                                     "body(i) or body(scope, i) with a number of the common type of the "
                                     "bounds and a fork_scope&");
        const range numbers(first, last);
        if constexpr (forks) {
            return for_forking_numbers(tree, numbers, body, options...);
        } else if constexpr (can_be_called) {
            return run_loop(tree, numbers.size, loop_options(options...),
                            [numbers, &body](std::size_t from, std::size_t to) {
                                for (; from != to; ++from) std::invoke(body, numbers[from]);
                            });
        }
    }
    return false;
}

} // namespace detail

/// Calls `body(i)` for each i in [first, last), in any order, some of them at the same time, in this thread
/// and in workers of this_pool(). Both bounds are signed, or both unsigned, of at most 64 bits. Returns when
/// all calls have ended; their effects are visible. True if all have been made, false if a stop was requested
/// meanwhile. An exception of a call ends the loop as a stop does and is thrown when the others have ended;
/// see suppressed_exceptions() for more of them. Costs nothing per iteration while nobody looks for work, but
/// for a look every 2 us. `body` is shared by all threads, and waits for no task of the pool, see
/// parallel_invoke(). Also throws as default_pool().
///
/// Where the loops with this body have always been short, the next one wakes no thread that sleeps before it
/// has taken as long as a wake-up takes, 50 us at most, and the iteration that runs then has ended, or 10 ms
/// have passed. Nothing promises that two iterations run at the same time: they must not wait for one
/// another.
///
/// `body(scope, i)`, for a body that forks itself: all iterations that have not begun are on offer while one
/// runs, and each costs about 1 ns.
template <std::integral First, std::integral Last, class Body>
bool parallel_for(First first, Last last, Body&& body, const loop_options& options = {}) {
    return detail::for_numbers(static_cast<thread_pool*>(nullptr), first, last, body, options);
}

/// As above, in workers of `pool`.
template <std::integral First, std::integral Last, class Body>
bool parallel_for(thread_pool& pool, First first, Last last, Body&& body, const loop_options& options = {}) {
    return detail::for_numbers(&pool, first, last, body, options);
}

/// As above, for callables that were given a scope: forks of a number of calls that is known at run time.
template <std::integral First, std::integral Last, class Body>
bool parallel_for(fork_scope& scope, First first, Last last, Body&& body, const loop_options& options) {
    return detail::for_numbers(&scope, first, last, body, options);
}
/// As above; always true.
template <std::integral First, std::integral Last, class Body>
bool parallel_for(fork_scope& scope, First first, Last last, Body&& body) {
    return detail::for_numbers(&scope, first, last, body);
}

} // namespace ekiden::inline EKIDEN_ABI
