/// Finds the first element with a property, in parallel.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/detail/parallel_search.hpp>

#include <cstddef>
#include <functional>
#include <ranges>

namespace ekiden::inline EKIDEN_ABI {
namespace detail {

template <class Range, class Predicate>
std::ranges::borrowed_iterator_t<Range> find_element(thread_pool* pool, Range&& range, Predicate& predicate,
                                                     const loop_options& options) {
    constexpr bool can_test = is_test_of<Predicate, Range>;
    static_assert(can_test, "ekiden: parallel_find_if: the predicate must be callable as predicate(element) "
                            "and return a bool");
    if constexpr (can_test) {
        const std::size_t place =
            detail::search_range<search_for::first_match>("parallel_find", pool, range, predicate, options);
        return std::ranges::begin(range) + static_cast<std::ranges::range_difference_t<Range>>(place);
    }
    throw_stopped("parallel_find");
}

template <class Range, class Value>
std::ranges::borrowed_iterator_t<Range> find_value(thread_pool* pool, Range&& range, const Value& value,
                                                   const loop_options& options) {
    constexpr bool can_compare = requires(std::ranges::range_reference_t<Range> element) {
        { element == value } -> std::convertible_to<bool>;
    };
    static_assert(can_compare, "ekiden: parallel_find: element == value must be a bool");
    if constexpr (can_compare) {
        const auto is_equal = [&value](const auto& element) { return static_cast<bool>(element == value); };
        return detail::find_element<Range>(pool, static_cast<Range&&>(range), is_equal, options);
    }
    throw_stopped("parallel_find");
}

} // namespace detail

/// Returns an iterator to the first element of a range for which `predicate(element)` returns true, like
/// std::ranges::find_if. If there is none, returns the end of the range. If the range is an rvalue whose
/// iterators may not outlive it, such as a temporary vector, returns std::ranges::dangling.
///
/// This thread and workers of this_pool() test the elements, in any order and at the same time. Once a match
/// is known, no thread begins a piece behind it. So the search may test elements behind the match, but not
/// all of them. It may test one element more than once. All threads share one `predicate`.
///
/// If a call of `predicate` throws, the search ends and throws this exception, even if an earlier element
/// matches. Throws operation_canceled if a stop is requested through `options.stop` before
/// the end. `options.progress` counts only the elements that the search tests. In all other respects, the
/// function behaves like parallel_for().
template <std::ranges::random_access_range Range, class Predicate>
    requires std::ranges::sized_range<Range>
[[nodiscard]] std::ranges::borrowed_iterator_t<Range> parallel_find_if(Range&& range, Predicate&& predicate,
                                                                       const loop_options& options = {}) {
    return detail::find_element<Range>(nullptr, static_cast<Range&&>(range), predicate, options);
}
/// Searches a range like the overload without a pool, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, class Predicate>
    requires std::ranges::sized_range<Range>
[[nodiscard]] std::ranges::borrowed_iterator_t<Range>
parallel_find_if(thread_pool& pool, Range&& range, Predicate&& predicate, const loop_options& options = {}) {
    return detail::find_element<Range>(&pool, static_cast<Range&&>(range), predicate, options);
}

/// Returns an iterator to the first element that is equal to `value`, or the end of the range. In all other
/// respects, the function behaves like parallel_find_if().
template <std::ranges::random_access_range Range, class Value>
    requires std::ranges::sized_range<Range>
[[nodiscard]] std::ranges::borrowed_iterator_t<Range> parallel_find(Range&& range, const Value& value,
                                                                    const loop_options& options = {}) {
    return detail::find_value<Range>(nullptr, static_cast<Range&&>(range), value, options);
}
/// Searches a range like the overload without a pool, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, class Value>
    requires std::ranges::sized_range<Range>
[[nodiscard]] std::ranges::borrowed_iterator_t<Range>
parallel_find(thread_pool& pool, Range&& range, const Value& value, const loop_options& options = {}) {
    return detail::find_value<Range>(&pool, static_cast<Range&&>(range), value, options);
}

} // namespace ekiden::inline EKIDEN_ABI
