/// A loop over numbers whose iterations may run in parallel.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/parallel_loop.hpp>

#include <concepts>
#include <functional>

namespace ekiden::inline EKIDEN_ABI {
namespace detail {

template <class First, class Last, class Body>
bool for_numbers(thread_pool* pool, First first, Last last, Body& body, const loop_options& options) {
    constexpr bool comparable = same_signedness<First, Last>;
    static_assert(comparable, "ekiden: parallel_for(first, last, body): both bounds must be signed or both "
                              "unsigned, such as std::size_t{0} and v.size()");
    if constexpr (comparable) {
        using range = number_range<First, Last>;
        constexpr bool can_be_called = std::invocable<Body&, typename range::index>;
        static_assert(can_be_called, "ekiden: parallel_for(first, last, body): body must be callable as "
                                     "body(i) with a number of the common type of the bounds");
        if constexpr (can_be_called) {
            return run_loop(pool, range(first, last).size, options,
                            [numbers = range(first, last), &body](std::size_t from, std::size_t to) {
                                for (; from != to; ++from) std::invoke(body, numbers[from]);
                            });
        }
    }
    return false;
}

} // namespace detail

/// Calls `body(i)` for each i in [first, last), in any order, some of them at the same time, in this thread
/// and in workers of this_pool(). Both bounds are signed, or both unsigned. Returns when all calls have
/// ended; their effects are visible. True if all have been made, false if a stop was requested meanwhile. An
/// exception of a call ends the loop as a stop does and is thrown when the others have ended; see
/// suppressed_exceptions() for more of them. Costs nothing per iteration while nobody looks for work, but for
/// a look every 2 us. `body` is shared by all threads. Also throws as default_pool().
template <std::integral First, std::integral Last, class Body>
bool parallel_for(First first, Last last, Body&& body, const loop_options& options = {}) {
    return detail::for_numbers(nullptr, first, last, body, options);
}

/// As above, in workers of `pool`.
template <std::integral First, std::integral Last, class Body>
bool parallel_for(thread_pool& pool, First first, Last last, Body&& body, const loop_options& options = {}) {
    return detail::for_numbers(&pool, first, last, body, options);
}

} // namespace ekiden::inline EKIDEN_ABI
