/// Merges sorted runs and sorts short runs, without loss of elements if a comparison throws.
///
/// Part: fork. Used by: parallel_stable_sort. Private.
///
/// Elements that are cheap to copy are merged from both ends of the runs at once, and without branches that
/// depend on the elements. Processors cannot predict such branches, and the two merges do not wait for each
/// other (like in driftsort, Bergdoll, Peters, 2024).
#pragma once

#include <ekiden/sys/config.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// True if a merge may copy an element instead of moving it, and should not branch on comparisons.
template <class T>
inline constexpr bool is_cheap_to_copy =
    std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T> && sizeof(T) <= 32;

/// Moves [first, last) to the elements from `to` on. Returns the end of the result. If a move throws, the
/// rest of the elements stays where it is.
template <class From, class To>
To moved(From first, From last, To to) noexcept {
    const auto end = to + (last - first);
    if constexpr (std::is_nothrow_assignable_v<std::iter_reference_t<To>,
                                               std::iter_rvalue_reference_t<From>>) {
        return std::ranges::move(first, last, to).out;
    } else {
        try {
            std::ranges::move(first, last, to);
        } catch (...) { // the elements are valid, but some of them are copies
        }
        return end;
    }
}

/// Two sorted runs, whose elements move to one sorted run. The destructor moves the elements that are left,
/// so no element is lost if a comparison throws.
template <class From, class To, class Compare>
class merge_of_two {
public:
    /// `to` has room for the elements of [left, left_end) and [right, right_end).
    merge_of_two(From left, From left_end, From right, From right_end, To to, Compare& compare) noexcept
        : left_(left), left_end_(left_end), right_(right), right_end_(right_end), to_(to), compare_(compare) {
    }
    ~merge_of_two() { detail::moved(right_, right_end_, detail::moved(left_, left_end_, to_)); }
    merge_of_two(const merge_of_two&) = delete;
    merge_of_two& operator=(const merge_of_two&) = delete;

    /// Merges the runs until one of them is empty. The destructor moves the rest.
    void run() {
        if (left_ == left_end_ || right_ == right_end_ || !before(*right_, left_end_[-1])) return;
        if constexpr (is_cheap_to_copy<std::iter_value_t<From>>) from_both_ends();
        while (left_ != left_end_ && right_ != right_end_) {
            if (before(*right_, *left_)) {
                *to_ = std::ranges::iter_move(right_);
                ++right_;
            } else {
                *to_ = std::ranges::iter_move(left_);
                ++left_;
            }
            ++to_;
        }
    }

private:
    template <class A, class B>
    [[nodiscard]] bool before(A&& a, B&& b) const {
        return static_cast<bool>(std::invoke(compare_, std::forward<A>(a), std::forward<B>(b)));
    }

    /// Merges as many elements as both ends can give without a check for the end of a run. Copies the
    /// elements, so the members are right even if a comparison throws.
    void from_both_ends() {
        To end = to_ + ((left_end_ - left_) + (right_end_ - right_));
        for (;;) {
            auto steps = std::min(left_end_ - left_, right_end_ - right_) / 2;
            if (steps < 2) return;
            From left = left_;
            From right = right_;
            From left_back = left_end_ - 1;
            From right_back = right_end_ - 1;
            To to = to_;
            To back = end;
            for (; steps != 0; --steps) {
                const bool takes_right = before(*right, *left);
                const bool takes_left = before(*right_back, *left_back);
                *to = takes_right ? *right : *left;
                --back;
                *back = takes_left ? *left_back : *right_back;
                right += takes_right;
                left += !takes_right;
                left_back -= takes_left;
                right_back -= !takes_left;
                ++to;
            }
            left_ = left;
            right_ = right;
            left_end_ = left_back + 1;
            right_end_ = right_back + 1;
            to_ = to;
            end = back;
        }
    }

    From left_;
    From left_end_;
    From right_;
    From right_end_;
    To to_;
    Compare& compare_;
};

/// Sorts a short run, and keeps the order of equal elements.
template <class Iterator, class Compare>
void insertion_sort(Iterator first, Iterator last, Compare& compare) {
    // The element that is out of the run. The destructor puts the element back.
    struct hole {
        std::iter_value_t<Iterator> value;
        Iterator at;
        explicit hole(Iterator from) : value(std::ranges::iter_move(from)), at(from) {}
        ~hole() { detail::moved(std::addressof(value), std::addressof(value) + 1, at); }
        hole(const hole&) = delete;
        hole& operator=(const hole&) = delete;
    };
    if (first == last) return;
    for (Iterator next = first + 1; next != last; ++next) {
        if (!std::invoke(compare, *next, *(next - 1))) continue;
        hole open(next);
        do {
            *open.at = std::ranges::iter_move(open.at - 1);
            --open.at;
        } while (open.at != first && std::invoke(compare, open.value, *(open.at - 1)));
    }
}

} // namespace ekiden::inline EKIDEN_ABI::detail
