/// Applies a function to all elements of a range in parallel.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/detail/parallel_loop.hpp>

#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {
namespace detail {

template <class Range, class Output, class Operation>
bool transform_elements(thread_pool* pool, Range& range, Output output, Operation& operation,
                        const loop_options& options) {
    using element = std::ranges::range_reference_t<Range>;
    constexpr bool can_be_assigned =
        requires(Output out) { *out = std::invoke(operation, std::declval<element>()); };
    static_assert(can_be_assigned, "ekiden: parallel_transform: the operation must be callable as "
                                   "operation(element), and its result assignable to *output");
    constexpr bool is_separate = has_separate_elements<Output>;
    static_assert(is_separate,
                  "ekiden: parallel_transform: two threads must not write to neighboring elements "
                  "of a std::vector<bool>, which share a byte; take std::vector<char>");
    if constexpr (can_be_assigned && is_separate) {
        const auto input = std::ranges::begin(range);
        using in_difference = std::ranges::range_difference_t<Range>;
        using out_difference = std::iter_difference_t<Output>;
        return detail::run_loop(pool, static_cast<std::size_t>(std::ranges::size(range)), options,
                                [input, output, &operation](std::size_t from, std::size_t to) {
                                    auto in = input + static_cast<in_difference>(from);
                                    auto out = output + static_cast<out_difference>(from);
                                    for (; from != to; ++from, ++in, ++out)
                                        *out = std::invoke(operation, *in);
                                });
    }
    return false;
}

} // namespace detail

/// Assigns `operation(range[i])` to `output[i]` for each index `i` of the range, in any order. `output` may
/// be the beginning of `range`. In all other respects, the function behaves like parallel_for().
///
/// Returns false if a stop was requested through `options.stop` before the end. Without a stop request,
/// transforms all elements and returns true.
template <std::ranges::random_access_range Range, std::random_access_iterator Output, class Operation>
    requires std::ranges::sized_range<Range>
bool parallel_transform(Range&& range, Output output, Operation&& operation,
                        const loop_options& options = {}) {
    return detail::transform_elements(nullptr, range, output, operation, options);
}
/// Transforms the range like the overload without a pool, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, std::random_access_iterator Output, class Operation>
    requires std::ranges::sized_range<Range>
bool parallel_transform(thread_pool& pool, Range&& range, Output output, Operation&& operation,
                        const loop_options& options = {}) {
    return detail::transform_elements(&pool, range, output, operation, options);
}

} // namespace ekiden::inline EKIDEN_ABI
