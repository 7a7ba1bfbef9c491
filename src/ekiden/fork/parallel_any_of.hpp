/// Tests in parallel whether any, all or none of the elements have a property.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/detail/parallel_search.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <ranges>

namespace ekiden::inline EKIDEN_ABI {
namespace detail {

/// Returns whether a call of `predicate` with an element returns `wanted`.
template <bool Wanted, class Range, class Predicate>
bool has_element(const char* algorithm, thread_pool* pool, Range& range, Predicate& predicate,
                 const loop_options& options) {
    constexpr bool can_test = is_test_of<Predicate, Range>;
    static_assert(can_test, "ekiden: parallel_any_of, parallel_all_of, parallel_none_of: the predicate must "
                            "be callable as predicate(element) and return a bool");
    if constexpr (can_test) {
        const auto matches = [&predicate]<class Element>(Element&& element) {
            return static_cast<bool>(std::invoke(predicate, static_cast<Element&&>(element))) == Wanted;
        };
        const auto total = static_cast<std::size_t>(std::ranges::size(range));
        return detail::search_range<search_for::any_match>(algorithm, pool, range, matches, options) != total;
    }
    return false;
}

} // namespace detail

/// Returns whether `predicate(element)` returns true for any element of a range, like std::ranges::any_of.
/// Returns false for an empty range.
///
/// This thread and workers of this_pool() test the elements, in any order and at the same time. Once a match
/// is known, each thread ends after its current step. A step takes about 2 us, or as long as one call of
/// `predicate`. An element may be tested more than once. All threads share one `predicate`.
///
/// If a call of `predicate` throws, the search ends and throws this exception. Throws
/// operation_canceled if a stop is requested through `options.stop` before the end.
/// `options.progress` counts only the elements that the search tests. In all other respects, the function
/// behaves like parallel_for().
template <std::ranges::random_access_range Range, class Predicate>
    requires std::ranges::sized_range<Range>
[[nodiscard]] bool parallel_any_of(Range&& range, Predicate&& predicate, const loop_options& options = {}) {
    return detail::has_element<true>("parallel_any_of", nullptr, range, predicate, options);
}
/// Tests a range like the overload without a pool, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, class Predicate>
    requires std::ranges::sized_range<Range>
[[nodiscard]] bool parallel_any_of(thread_pool& pool, Range&& range, Predicate&& predicate,
                                   const loop_options& options = {}) {
    return detail::has_element<true>("parallel_any_of", &pool, range, predicate, options);
}

/// Returns whether `predicate(element)` returns true for all elements of a range. Returns true for an empty
/// range. The test ends early at an element for which `predicate` returns false. In all other respects, the
/// function behaves like parallel_any_of().
template <std::ranges::random_access_range Range, class Predicate>
    requires std::ranges::sized_range<Range>
[[nodiscard]] bool parallel_all_of(Range&& range, Predicate&& predicate, const loop_options& options = {}) {
    return !detail::has_element<false>("parallel_all_of", nullptr, range, predicate, options);
}
/// Tests a range like the overload without a pool, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, class Predicate>
    requires std::ranges::sized_range<Range>
[[nodiscard]] bool parallel_all_of(thread_pool& pool, Range&& range, Predicate&& predicate,
                                   const loop_options& options = {}) {
    return !detail::has_element<false>("parallel_all_of", &pool, range, predicate, options);
}

/// Returns whether `predicate(element)` returns true for no element of a range. Returns true for an empty
/// range. In all other respects, the function behaves like parallel_any_of().
template <std::ranges::random_access_range Range, class Predicate>
    requires std::ranges::sized_range<Range>
[[nodiscard]] bool parallel_none_of(Range&& range, Predicate&& predicate, const loop_options& options = {}) {
    return !detail::has_element<true>("parallel_none_of", nullptr, range, predicate, options);
}
/// Tests a range like the overload without a pool, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, class Predicate>
    requires std::ranges::sized_range<Range>
[[nodiscard]] bool parallel_none_of(thread_pool& pool, Range&& range, Predicate&& predicate,
                                    const loop_options& options = {}) {
    return !detail::has_element<true>("parallel_none_of", &pool, range, predicate, options);
}

} // namespace ekiden::inline EKIDEN_ABI
