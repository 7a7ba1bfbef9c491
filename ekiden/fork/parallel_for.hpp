/// A loop over numbers whose iterations may run in parallel.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/parallel_loop.hpp>

#include <concepts>
#include <functional>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI {

/// Calls `body(i)` for each i in [first, last), in any order, some of them at the same time, in this thread
/// and in workers of `options.pool`. Returns when all calls have ended; their effects are visible. True if
/// all have been made, false if a stop was requested meanwhile. An exception of a call ends the loop as a
/// stop does and is thrown when the others have ended; see suppressed_exceptions() for more of them. Costs
/// nothing per iteration while nobody looks for work, but for a look every 2 us. `body` is shared by all
/// threads. Also throws as default_pool().
template <std::integral First, std::integral Last, class Body>
bool parallel_for(First first, Last last, Body&& body, const loop_options& options = {}) {
    using index = std::common_type_t<First, Last>;
    using number = std::make_unsigned_t<index>; // a range may be longer than the largest index
    if (!(static_cast<index>(first) < static_cast<index>(last))) return !options.stop.stop_requested();
    const auto begin = static_cast<number>(first);
    const auto total = static_cast<number>(static_cast<number>(last) - begin);
    return run_loop(total, options, [begin, &body](std::size_t from, std::size_t to) {
        for (; from != to; ++from)
            std::invoke(body, static_cast<index>(static_cast<number>(begin + static_cast<number>(from))));
    });
}

} // namespace ekiden::inline EKIDEN_ABI
