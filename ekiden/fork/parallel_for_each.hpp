/// A loop over the elements of a range whose iterations may run in parallel.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/parallel_loop.hpp>

#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// Calls `body(element)` for each element of [first, last), in any order; otherwise as parallel_for(). Where
/// the iterator gives no random access, a list of all iterators is made first: std::bad_alloc.
template <std::forward_iterator Iterator, std::sentinel_for<Iterator> Sentinel, class Body>
bool parallel_for_each(Iterator first, Sentinel last, Body&& body, const loop_options& options = {}) {
    if constexpr (std::random_access_iterator<Iterator> && std::sized_sentinel_for<Sentinel, Iterator>) {
        return run_loop(static_cast<std::size_t>(last - first), options,
                        [first, &body](std::size_t from, std::size_t to) {
                            using difference = std::iter_difference_t<Iterator>;
                            const Iterator end = first + static_cast<difference>(to);
                            for (Iterator at = first + static_cast<difference>(from); at != end; ++at)
                                std::invoke(body, *at);
                        });
    } else {
        std::vector<Iterator> places;
        for (; first != last; ++first) places.push_back(first);
        return parallel_for_each(
            places.begin(), places.end(), [&body](const Iterator& at) { std::invoke(body, *at); }, options);
    }
}

/// As above, for all elements of a range.
template <std::ranges::forward_range Range, class Body>
bool parallel_for_each(Range&& range, Body&& body, const loop_options& options = {}) {
    return parallel_for_each(std::ranges::begin(range), std::ranges::end(range), std::forward<Body>(body),
                             options);
}

} // namespace ekiden::inline EKIDEN_ABI
