/// Sorting in parallel.
///
/// Part: fork. Used by: programs.
///
/// The algorithm is quicksort (Hoare, 1962). The sort forks the two parts of each partition. std::sort sorts
/// small parts. If bad pivots make the recursion too deep, std::sort sorts large parts, too, like in
/// introsort (Musser, 1997). If the elements are numbers and the order is ascending or descending,
/// parallel_sort uses the algorithm of branchless_sort. One thread alone makes the first partition. So the
/// speedup is at most about half the logarithm of the number of elements.
#pragma once

#include <ekiden/fork/detail/branchless_sort.hpp>
#include <ekiden/fork/detail/parallel_loop.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- private

namespace detail {

template <class Iterator, class Compare>
struct quicksort {
    Compare& compare;
    loop_run& run;
    const std::ptrdiff_t small;

    void sort(fork_scope& scope, Iterator first, Iterator last, int levels) const {
        if (run.is_over()) return;
        Iterator middle = first;
        try {
            if (last - first <= small || levels == 0) {
                std::sort(first, last,
                          [this](const auto& a, const auto& b) { return bool(std::invoke(compare, a, b)); });
                run.advance(static_cast<std::size_t>(last - first));
                return;
            }
            middle = partition(first, last);
        } catch (...) {
            run.end();
            throw;
        }
        run.fork_pieces(
            scope, [=, this](fork_scope& s) { sort(s, first, middle, levels - 1); },
            [=, this](fork_scope& s) { sort(s, middle, last, levels - 1); });
    }

    /// Partitions the elements, and returns where the second part begins. No element of the first part is
    /// greater than an element of the second part. Neither part is empty.
    Iterator partition(Iterator first, Iterator last) const {
        // The pivot is the median of three medians, each of three elements. The nine elements have different
        // positions.
        const auto eighth = (last - first) / 8;
        const Iterator a = median(first, first + eighth, first + 2 * eighth);
        const Iterator b = median(first + 3 * eighth, first + 4 * eighth, first + 5 * eighth);
        const Iterator c = median(first + 6 * eighth, first + 7 * eighth, last - 1);
        std::iter_swap(first, median(a, b, c));
        const Iterator pivot = first;
        // The downward search ends at the pivot or earlier. The upward search ends at an element that is not
        // less than the pivot. Only the first upward search must check for the end of the range. Each swap
        // leaves an element at `high` that ends the next upward search.
        Iterator low = first + 1;
        Iterator high = last;
        while (low != high && std::invoke(compare, *low, *pivot)) ++low;
        for (;;) {
            do --high;
            while (std::invoke(compare, *pivot, *high));
            if (!(low < high)) break;
            std::iter_swap(low, high);
            do ++low;
            while (std::invoke(compare, *low, *pivot));
        }
        // No element of [first, low) is greater than the pivot. No element of [low, last) is less than the
        // pivot.
        std::iter_swap(pivot, low - 1);
        return low - 1 == first ? low : low - 1;
    }

    Iterator median(Iterator a, Iterator b, Iterator c) const {
        if (std::invoke(compare, *a, *b)) {
            if (std::invoke(compare, *b, *c)) return b;
            return std::invoke(compare, *a, *c) ? c : a;
        }
        if (std::invoke(compare, *a, *c)) return a;
        return std::invoke(compare, *b, *c) ? c : b;
    }
};

/// Sorts numbers. Comparisons of numbers do not throw.
template <class T, bool Descending>
struct number_sort {
    using algorithm = branchless_sort<T, Descending>;
    loop_run& run;
    const std::ptrdiff_t small;

    static bool looks_sorted(T* first, T* last) noexcept {
        return algorithm::looks_sorted(first, last) && !algorithm::is_in_order(first, last);
    }

    void sort(fork_scope& scope, T* first, T* last, const T* bound, int levels) const {
        if (run.is_over()) return;
        if (last - first <= small || levels == 0 || algorithm::is_in_order(first, last)) {
            algorithm::sort(first, last, bound, levels);
            advance(last - first);
            return;
        }
        const auto [middle, rest] = algorithm::partition(first, last, bound);
        advance(rest - middle); // the equal elements are in their final places
        run.fork_pieces(
            scope, [=, this, end = middle](fork_scope& s) { sort(s, first, end, bound, levels - 1); },
            [=, this, begin = rest](fork_scope& s) { sort(s, begin, last, begin - 1, levels - 1); });
    }

    void advance(std::ptrdiff_t count) const {
        try {
            if (count != 0) run.advance(static_cast<std::size_t>(count));
        } catch (...) {
            run.end();
            throw;
        }
    }
};

/// Returns whether two threads can sort the elements with `Compare`. If not, the compilation fails with a
/// message.
template <class Iterator, class Compare>
constexpr bool is_sort() {
    constexpr bool is_separate = has_separate_elements<Iterator>;
    static_assert(is_separate,
                  "ekiden: parallel_sort: two threads must not write to neighboring elements of a "
                  "std::vector<bool>, which share a byte; take std::vector<char>");
    constexpr bool can_move = !is_separate || std::permutable<Iterator>; // to avoid a second error message
    static_assert(can_move, "ekiden: parallel_sort: the elements must be movable and assignable");
    constexpr bool can_compare = std::is_invocable_r_v<bool, Compare&, std::iter_reference_t<Iterator>,
                                                       std::iter_reference_t<Iterator>>;
    static_assert(can_compare, "ekiden: parallel_sort: compare must be callable as compare(a, b) with two "
                               "elements and return a bool");
    return is_separate && can_move && can_compare;
}

template <class Iterator, class Compare>
bool sort_elements(thread_pool* pool, Iterator first, Iterator last, Compare& compare,
                   const loop_options& options) {
    if constexpr (is_sort<Iterator, Compare>()) {
        const auto count = static_cast<std::size_t>(last - first);
        loop_run run(options, count);
        const std::size_t grain = std::min(run.has_grain() ? run.grain() : 2048, count);
        // partition() needs nine positions
        const auto small = std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(grain), 16);
        const int levels = 2 * static_cast<int>(std::bit_width(count));
        if (count != 0 && !run.is_over()) {
            detail::in_fork_tree(pool, [&](fork_scope& scope) {
                if constexpr (is_branchless<Iterator, Compare>) {
                    using value = std::iter_value_t<Iterator>;
                    const number_sort<value, is_greater<Compare, value>> numbers{run, small};
                    auto* const begin = std::to_address(first);
                    if (!numbers.looks_sorted(begin, begin + count))
                        return numbers.sort(scope, begin, begin + count, nullptr, levels);
                }
                const quicksort<Iterator, Compare> algorithm{compare, run, small};
                algorithm.sort(scope, first, last, levels);
            });
        }
        return !run.is_over();
    }
    return false;
}

} // namespace detail

// ---- the calls

/// Sorts [first, last) with the order `compare`, like std::sort. This thread and workers of this_pool() sort
/// in parallel. The sort is not stable.
///
/// All threads share one `compare`. If `compare` throws, the rest of the elements is left unsorted, and some
/// elements may be in a moved-from state. parallel_sort() throws the exception when no thread sorts any more.
/// In all other respects, the function behaves like parallel_for().
///
/// If a stop is requested through `options.stop` before the end, returns false and leaves the elements in no
/// particular order. Without a stop request, sorts all elements and returns true.
template <std::random_access_iterator Iterator, class Compare = std::less<>>
bool parallel_sort(Iterator first, Iterator last, Compare compare = {}, const loop_options& options = {}) {
    return detail::sort_elements(nullptr, first, last, compare, options);
}
/// Sorts [first, last) like the overload without a pool, in this thread and in workers of `pool`.
template <std::random_access_iterator Iterator, class Compare = std::less<>>
bool parallel_sort(thread_pool& pool, Iterator first, Iterator last, Compare compare = {},
                   const loop_options& options = {}) {
    return detail::sort_elements(&pool, first, last, compare, options);
}

/// Sorts a range like the overload with two iterators.
template <std::ranges::random_access_range Range, class Compare = std::less<>>
    requires std::ranges::common_range<Range>
bool parallel_sort(Range&& range, Compare compare = {}, const loop_options& options = {}) {
    return detail::sort_elements(nullptr, std::ranges::begin(range), std::ranges::end(range), compare,
                                 options);
}
/// Sorts a range like the overload with two iterators, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, class Compare = std::less<>>
    requires std::ranges::common_range<Range>
bool parallel_sort(thread_pool& pool, Range&& range, Compare compare = {}, const loop_options& options = {}) {
    return detail::sort_elements(&pool, std::ranges::begin(range), std::ranges::end(range), compare, options);
}

} // namespace ekiden::inline EKIDEN_ABI
