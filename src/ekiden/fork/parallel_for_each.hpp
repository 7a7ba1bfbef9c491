/// A parallel loop over the elements of a range.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/detail/parallel_loop.hpp>

#include <concepts>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {
namespace detail {

template <class Iterator, class Sentinel, class Body>
bool for_elements(thread_pool* pool, Iterator first, Sentinel last, Body& body, const loop_options& options) {
    constexpr bool can_be_called = std::invocable<Body&, std::iter_reference_t<Iterator>>;
    static_assert(can_be_called, "ekiden: parallel_for_each: the body must be callable as body(element) with "
                                 "what the iterator refers to");
    constexpr bool is_separate = has_separate_elements<Iterator>;
    static_assert(is_separate,
                  "ekiden: parallel_for_each: two threads must not write to neighboring elements "
                  "of a std::vector<bool>, which share a byte; take std::vector<char>, or "
                  "std::as_const() to read");
    if constexpr (!can_be_called || !is_separate) {
        return false;
    } else if constexpr (std::random_access_iterator<Iterator>
                         && std::sized_sentinel_for<Sentinel, Iterator>) {
        return detail::run_loop(pool, static_cast<std::size_t>(last - first), options,
                                [first, &body](std::size_t from, std::size_t to) {
                                    using difference = std::iter_difference_t<Iterator>;
                                    const Iterator end = first + static_cast<difference>(to);
                                    for (Iterator at = first + static_cast<difference>(from); at != end; ++at)
                                        std::invoke(body, *at);
                                });
    } else {
        std::vector<Iterator> places;
        for (; first != last; ++first) places.push_back(first);
        const auto at_place = [&body](const Iterator& at) { std::invoke(body, *at); };
        return detail::for_elements(pool, places.begin(), places.end(), at_place, options);
    }
}

} // namespace detail

/// Calls `body(element)` for each element of [first, last), in any order. This thread and workers of
/// this_pool() make the calls. Several calls may run at the same time.
///
/// If the iterators are not random access iterators, the function first makes a list of all iterators. Making
/// this list may throw std::bad_alloc. In all other respects, the loop behaves like parallel_for().
///
/// Returns false if a stop was requested through `options.stop` before the loop ended. Without a stop
/// request, makes all calls and returns true.
template <std::forward_iterator Iterator, std::sentinel_for<Iterator> Sentinel, class Body>
bool parallel_for_each(Iterator first, Sentinel last, Body&& body, const loop_options& options = {}) {
    return detail::for_elements(nullptr, std::move(first), std::move(last), body, options);
}
/// Runs the loop like the overload without a pool, in this thread and in workers of `pool`.
template <std::forward_iterator Iterator, std::sentinel_for<Iterator> Sentinel, class Body>
bool parallel_for_each(thread_pool& pool, Iterator first, Sentinel last, Body&& body,
                       const loop_options& options = {}) {
    return detail::for_elements(&pool, std::move(first), std::move(last), body, options);
}

/// Calls `body(element)` for each element of a range.
template <std::ranges::forward_range Range, class Body>
bool parallel_for_each(Range&& range, Body&& body, const loop_options& options = {}) {
    return detail::for_elements(nullptr, std::ranges::begin(range), std::ranges::end(range), body, options);
}
/// Calls `body(element)` for each element of a range, in this thread and in workers of `pool`.
template <std::ranges::forward_range Range, class Body>
bool parallel_for_each(thread_pool& pool, Range&& range, Body&& body, const loop_options& options = {}) {
    return detail::for_elements(&pool, std::ranges::begin(range), std::ranges::end(range), body, options);
}

} // namespace ekiden::inline EKIDEN_ABI
