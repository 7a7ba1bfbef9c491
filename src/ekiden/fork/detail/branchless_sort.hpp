/// Sorts numbers without branches that depend on the numbers, because processors cannot predict such
/// branches.
///
/// Part: fork. Used by: parallel_sort. Private.
///
/// The algorithm is quicksort with Lomuto's partition. Each step executes the same instructions for both
/// results of the comparison (Alexandrescu, "Lomuto's comeback", 2020). The partition has the cyclic form of
/// ipnsort (Bergdoll, Peters, 2023), which needs one move less per element than swaps. Elements that are
/// equal to a pivot are not sorted again, like in pdqsort (Peters, 2021). Green's sorting network for 16
/// elements sorts small parts.
#pragma once

#include <ekiden/sys/config.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

// True if `Compare` is a standard type for ascending order (is_less) or for descending order (is_greater).
template <class Compare, class T>
inline constexpr bool is_less = std::is_same_v<Compare, std::less<>> || std::is_same_v<Compare, std::less<T>>
                                || std::is_same_v<Compare, std::ranges::less>;
template <class Compare, class T>
inline constexpr bool is_greater =
    std::is_same_v<Compare, std::greater<>> || std::is_same_v<Compare, std::greater<T>>
    || std::is_same_v<Compare, std::ranges::greater>;

/// True if branchless_sort can sort the elements to which the iterator refers.
template <class Iterator, class Compare>
inline constexpr bool is_branchless =
    std::contiguous_iterator<Iterator> && std::is_arithmetic_v<std::iter_value_t<Iterator>>
    && std::is_same_v<std::iter_reference_t<Iterator>, std::iter_value_t<Iterator>&>
    && (is_less<Compare, std::iter_value_t<Iterator>> || is_greater<Compare, std::iter_value_t<Iterator>>);

template <class T, bool Descending>
struct branchless_sort {
    static constexpr std::ptrdiff_t small = 16; // at most 16, because the sorting network has 16 inputs

    static bool before(T a, T b) noexcept { return Descending ? b < a : a < b; }

    /// Sorts [first, last). If `bound` is not null, no element may come before `*bound` in the order. If the
    /// recursion is deeper than `levels`, heapsort sorts the rest.
    static void sort(T* first, T* last, const T* bound, int levels) noexcept {
        while (last - first > small) {
            if (is_in_order(first, last)) return;
            if (levels-- == 0) {
                std::make_heap(first, last, before);
                std::sort_heap(first, last, before);
                return;
            }
            const auto [middle, rest] = partition(first, last, bound);
            sort(first, middle, bound, levels);
            first = rest;
            bound = rest - 1;
        }
        sort_small(first, last);
    }

    struct cut {
        T* middle;
        T* rest;
    };

    /// Partitions more than `small` elements. The elements of [first, middle) come before the pivot. The
    /// elements of [middle, rest) are equal to the pivot, and there is at least one such element. No element
    /// of [rest, last) comes before the pivot.
    static cut partition(T* first, T* last, const T* bound) noexcept {
        std::iter_swap(first, choose_pivot(first, last));
        const T pivot = *first;
        if (bound != nullptr && !before(*bound, pivot)) // no element can come before the pivot in the order
            return {first, split(first + 1, last, [pivot](T x) { return !before(pivot, x); })};
        T* const place = split(first + 1, last, [pivot](T x) { return before(x, pivot); }) - 1;
        std::iter_swap(first, place);
        return {place, place + 1};
    }

    /// Returns whether the elements are in order. If the elements are in strictly reverse order, reverses
    /// them and returns true.
    static bool is_in_order(T* first, T* last) noexcept {
        if (!before(*(first + 1), *first)) return std::is_sorted_until(first + 1, last, before) == last;
        const auto strictly_after = [](T a, T b) { return !before(b, a); };
        if (std::is_sorted_until(first, last, strictly_after) != last) return false;
        std::reverse(first, last);
        return true;
    }

    /// Returns whether a sample of the elements is nearly in order or in reverse order. For nearly sorted
    /// elements, the processor can predict branches, and a sort that moves few elements is faster.
    static bool looks_sorted(const T* first, const T* last) noexcept {
        const std::ptrdiff_t step = (last - first) / 16;
        if (step < 16) return false;
        int rise = 0; // number of ascending pairs minus number of descending pairs
        for (int i = 0; i != 15; ++i) {
            const T one = first[i * step];
            const T next = first[(i + 1) * step];
            rise += (before(one, next) ? 1 : 0) - (before(next, one) ? 1 : 0);
        }
        return rise >= 9 || rise <= -9;
    }

private:
    /// Moves the elements for which `left` returns true to the front. Returns the position of the first
    /// element for which `left` returns false. The range must not be empty.
    template <class Left>
    static T* split(T* first, T* last, Left left) noexcept {
        // A copy of the first element is kept, so that the position of the first element is a gap. The copy
        // is written back at the end.
        const T kept = *first;
        T* gap = first;
        T* end = first; // end of the elements that belong to the front
        for (T* at = first + 1; at != last; ++at) {
            const T value = *at;
            *gap = *end;
            *end = value;
            gap = at;
            end += left(value);
        }
        *gap = *end;
        *end = kept;
        return end + left(kept);
    }

    static T* median(T* a, T* b, T* c) noexcept {
        const bool ab = before(*a, *b);
        const bool bc = before(*b, *c);
        const bool ac = before(*a, *c);
        T* const outer = ab == ac ? (ab == bc ? b : c) : a;
        return outer;
    }

    /// Returns the median of three elements, or the median of three such medians.
    static T* choose_pivot(T* first, T* last) noexcept {
        const std::ptrdiff_t eighth = (last - first) / 8;
        T* const middle = first + 4 * eighth;
        if (last - first < 256) return median(first, middle, last - 1);
        return median(median(first, first + eighth, first + 2 * eighth),
                      median(first + 3 * eighth, middle, first + 5 * eighth),
                      median(first + 6 * eighth, first + 7 * eighth, last - 1));
    }

    static void order(T& a, T& b) noexcept {
        const T x = a;
        const T y = b;
        const bool swapped = before(y, x);
        a = swapped ? y : x;
        b = swapped ? x : y;
    }

    /// Sorts at most `small` elements with a sorting network. The unused inputs of the network get a value
    /// that comes last in the order, so this value stays at the end.
    static void sort_small(T* first, T* last) noexcept {
        const auto count = static_cast<std::size_t>(last - first);
        if (count < 2) return;
        using limits = std::numeric_limits<T>;
        constexpr T top = limits::has_infinity ? limits::infinity() : limits::max();
        constexpr T bottom = limits::has_infinity ? static_cast<T>(-limits::infinity()) : limits::lowest();
        T all[small];
        for (std::size_t i = 0; i != small; ++i) all[i] = Descending ? bottom : top;
        std::copy(first, last, all);
        if (count <= 8)
            network_of_8(all);
        else
            network_of_16(all);
        std::copy(all, all + count, first);
    }

    template <std::size_t... I>
    static void orders(T* v, std::index_sequence<I...>,
                       const unsigned char (&pairs)[2 * sizeof...(I)]) noexcept {
        (order(v[pairs[2 * I]], v[pairs[2 * I + 1]]), ...);
    }
    static void network_of_8(T* v) noexcept {
        static constexpr unsigned char pairs[38] = {0, 2, 1, 3, 4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7, 0, 1, 2,
                                                    3, 4, 5, 6, 7, 2, 4, 3, 5, 1, 4, 3, 6, 1, 2, 3, 4, 5, 6};
        orders(v, std::make_index_sequence<19>(), pairs);
    }
    static void network_of_16(T* v) noexcept {
        static constexpr unsigned char pairs[120] = {
            0, 1,  2,  3,  4, 5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, //
            0, 2,  4,  6,  8, 10, 12, 14, 1,  3,  5,  7,  9,  11, 13, 15, //
            0, 4,  8,  12, 1, 5,  9,  13, 2,  6,  10, 14, 3,  7,  11, 15, //
            0, 8,  1,  9,  2, 10, 3,  11, 4,  12, 5,  13, 6,  14, 7,  15, //
            5, 10, 6,  9,  3, 12, 13, 14, 7,  11, 1,  2,  4,  8,          //
            1, 4,  7,  13, 2, 8,  11, 14,                                 //
            2, 4,  5,  6,  9, 10, 11, 13, 3,  8,  7,  12,                 //
            6, 8,  10, 12, 3, 5,  7,  9,                                  //
            3, 4,  5,  6,  7, 8,  9,  10, 11, 12,                         //
            6, 7,  8,  9};
        orders(v, std::make_index_sequence<60>(), pairs);
    }
};

} // namespace ekiden::inline EKIDEN_ABI::detail
