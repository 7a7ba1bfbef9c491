/// Sorting in parallel.
///
/// Part: fork. Used by: programs.
///
/// Quicksort (C. A. R. Hoare 1962) whose parts are forked; std::sort for small parts, and for those whose
/// pivots were bad for too long, as in introsort (D. R. Musser 1997). The first partitions are made by one
/// thread, which limits the gain to about half the logarithm of the number of elements.
#pragma once

#include <ekiden/fork/fork_join.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- private

template <class Iterator, class Compare>
struct quicksort {
    Compare& compare;

    static constexpr std::ptrdiff_t small = 2048;

    void sort(fork_scope& scope, Iterator first, Iterator last, int levels) const {
        if (last - first <= small || levels == 0) {
            std::sort(first, last,
                      [this](const auto& a, const auto& b) { return bool(std::invoke(compare, a, b)); });
            return;
        }
        const Iterator middle = partition(first, last);
        parallel_invoke(
            scope, [=, this](fork_scope& s) { sort(s, first, middle, levels - 1); },
            [=, this](fork_scope& s) { sort(s, middle, last, levels - 1); });
    }

    /// What lies before the result is not greater than what lies from there on; neither part is empty.
    Iterator partition(Iterator first, Iterator last) const {
        const auto eighth = (last - first) / 8;
        const Iterator a = median(first, first + eighth, first + 2 * eighth);
        const Iterator b = median(first + 3 * eighth, first + 4 * eighth, first + 5 * eighth);
        const Iterator c = median(first + 6 * eighth, first + 7 * eighth, last - 1);
        std::iter_swap(first, median(a, b, c));
        const Iterator pivot = first;
        // The pivot stops the search downwards, and an element that is not less, found first, the one
        // upwards.
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
        // [first, low) is not greater than the pivot, and [low, last) not less.
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

// ---- the calls

/// Sorts [first, last) as std::sort does, in this thread and in workers of `pool` (null: this_pool()). Not
/// stable. `compare` is shared by all threads. An exception of it is thrown when all threads have ended their
/// parts; the elements are in no particular order then, and some may have been moved from. Also throws as
/// default_pool().
template <std::random_access_iterator Iterator, class Compare = std::less<>>
void parallel_sort(Iterator first, Iterator last, Compare compare = {}, thread_pool* pool = nullptr) {
    const auto count = static_cast<std::size_t>(last - first);
    const quicksort<Iterator, Compare> algorithm{compare};
    in_fork_tree(pool, [&](fork_scope& scope) {
        algorithm.sort(scope, first, last, 2 * static_cast<int>(std::bit_width(count)));
    });
}

/// As above, for a whole range.
template <std::ranges::random_access_range Range, class Compare = std::less<>>
    requires std::ranges::common_range<Range>
void parallel_sort(Range&& range, Compare compare = {}, thread_pool* pool = nullptr) {
    parallel_sort(std::ranges::begin(range), std::ranges::end(range), std::move(compare), pool);
}

} // namespace ekiden::inline EKIDEN_ABI
