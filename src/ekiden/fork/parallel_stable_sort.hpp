/// Stable sorting in parallel.
///
/// Part: fork. Used by: programs.
///
/// The algorithm is merge sort. Each level moves the elements between the range and a buffer of the same
/// size. A large merge is split where the middle of the longer run belongs in the other run (Cormen et al.,
/// "Introduction to Algorithms", 3rd edition, 27.3). So all threads take part in the last merges, too.
#pragma once

#include <ekiden/fork/detail/stable_merge.hpp>
#include <ekiden/fork/parallel_sort.hpp>
#include <ekiden/sys/lock.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <ranges>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- private

namespace detail {

/// The buffer of a stable sort. The buffer contains objects while `count` is not 0. If the elements are
/// trivially copyable, the buffer needs no constructors, and `count` stays 0.
template <class T>
class sort_buffer {
public:
    static constexpr bool is_raw = std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>;

    /// Throws std::bad_alloc.
    explicit sort_buffer(std::size_t size) : size_(size), begin_(std::allocator<T>().allocate(size)) {}
    ~sort_buffer() {
        std::destroy_n(begin_, count_);
        std::allocator<T>().deallocate(begin_, size_);
    }
    sort_buffer(const sort_buffer&) = delete;
    sort_buffer& operator=(const sort_buffer&) = delete;

    /// Moves the elements of a range to the buffer. If a constructor throws, some elements of the range are
    /// in a moved-from state.
    template <class Iterator>
    void fill(Iterator first, fork_scope& scope, const loop_options& options) {
        if constexpr (std::is_nothrow_constructible_v<T, std::iter_rvalue_reference_t<Iterator>>) {
            detail::run_loop(&scope, size_, {.concurrency = options.concurrency},
                             [this, first](std::size_t from, std::size_t to) {
                                 for (; from != to; ++from)
                                     std::construct_at(
                                         begin_ + from,
                                         std::ranges::iter_move(
                                             first + static_cast<std::iter_difference_t<Iterator>>(from)));
                             });
            count_ = size_;
        } else {
            for (; count_ != size_; ++count_, ++first)
                std::construct_at(begin_ + count_, std::ranges::iter_move(first));
        }
    }

    [[nodiscard]] T* begin() const noexcept { return begin_; }

private:
    const std::size_t size_;
    T* const begin_;
    std::size_t count_ = 0;
};

/// A merge sort of elements that are in `Source`, with the memory at `Other`. Both are iterators.
///
/// No function throws. The first exception ends the sort, and throw_errors() throws it at the end. Once the
/// sort is over, the elements only move to the place where they belong. So none is lost.
template <class Source, class Other, class Compare>
class merge_sort {
public:
    merge_sort(Source source, Other other, Compare& compare, loop_run& run, std::ptrdiff_t grain) noexcept
        : source_(source), other_(other), compare_(compare), run_(run), grain_(grain) {}

    /// Sorts the elements of [first, last). The result is in `other` if `to_other` is true, and otherwise in
    /// `source`.
    void sort(fork_scope& scope, std::ptrdiff_t first, std::ptrdiff_t last, bool to_other) noexcept {
        if (last - first <= grain_ || run_.is_over()) {
            sort_alone(first, last, to_other);
            guarded([&] {
                if (!run_.is_over()) run_.advance(static_cast<std::size_t>(last - first));
            });
            return;
        }
        const std::ptrdiff_t middle = first + (last - first) / 2;
        run_.fork_pieces(
            scope, [=, this](fork_scope& s) { sort(s, first, middle, !to_other); },
            [=, this](fork_scope& s) { sort(s, middle, last, !to_other); });
        if (to_other)
            merge(scope, source_ + first, source_ + middle, source_ + middle, source_ + last, other_ + first);
        else
            merge(scope, other_ + first, other_ + middle, other_ + middle, other_ + last, source_ + first);
    }

    void throw_errors() {
        if (errors_.thrown != nullptr) throw_fork_errors(std::move(errors_));
    }

private:
    static constexpr std::ptrdiff_t short_run = 10;
    static constexpr std::ptrdiff_t merge_grain = 8; // a merge of this many grains is split

    template <class Part>
    void guarded(Part&& part) noexcept {
        try {
            part();
        } catch (...) {
            run_.end();
            fork_errors caught = caught_fork_errors();
            const std::lock_guard guard(errors_lock_);
            errors_ = joined(std::move(errors_), std::move(caught));
        }
    }

    void sort_alone(std::ptrdiff_t first, std::ptrdiff_t last, bool to_other) noexcept {
        if (last - first <= short_run || run_.is_over()) {
            if (!run_.is_over())
                guarded([&] { detail::insertion_sort(source_ + first, source_ + last, compare_); });
            if (to_other) detail::moved(source_ + first, source_ + last, other_ + first);
            return;
        }
        const std::ptrdiff_t middle = first + (last - first) / 2;
        sort_alone(first, middle, !to_other);
        sort_alone(middle, last, !to_other);
        if (to_other)
            merge_alone(source_ + first, source_ + middle, source_ + middle, source_ + last, other_ + first);
        else
            merge_alone(other_ + first, other_ + middle, other_ + middle, other_ + last, source_ + first);
    }

    template <class From, class To>
    void merge_alone(From left, From left_end, From right, From right_end, To to) noexcept {
        guarded([&] {
            merge_of_two<From, To, Compare> merge(left, left_end, right, right_end, to, compare_);
            if (!run_.is_over()) merge.run();
        });
    }

    template <class From, class To>
    void merge(fork_scope& scope, From left, From left_end, From right, From right_end, To to) noexcept {
        const std::ptrdiff_t lefts = left_end - left;
        const std::ptrdiff_t rights = right_end - right;
        if (lefts + rights <= merge_grain * grain_ || run_.is_over())
            return merge_alone(left, left_end, right, right_end, to);
        From left_cut = left;
        From right_cut = right;
        guarded([&] {
            const auto is_before = [this](const auto& a, const auto& b) {
                return static_cast<bool>(std::invoke(compare_, a, b));
            };
            if (lefts >= rights) {
                left_cut = left + lefts / 2;
                right_cut = std::lower_bound(right, right_end, *left_cut, is_before);
            } else {
                right_cut = right + rights / 2;
                left_cut = std::upper_bound(left, left_end, *right_cut, is_before);
            }
        });
        const To to_cut = to + ((left_cut - left) + (right_cut - right));
        run_.fork_pieces(
            scope, [&, this](fork_scope& s) { merge(s, left, left_cut, right, right_cut, to); },
            [&, this](fork_scope& s) { merge(s, left_cut, left_end, right_cut, right_end, to_cut); });
    }

    const Source source_;
    const Other other_;
    Compare& compare_;
    loop_run& run_;
    const std::ptrdiff_t grain_;
    sys::slow_lock errors_lock_;
    fork_errors errors_; // under errors_lock_
};

/// Returns whether the elements are in order. Reverses elements that are in strictly reverse order.
template <class Iterator, class Compare>
bool is_in_order(Iterator first, Iterator last, Compare& compare) {
    const auto is_before = [&compare](const auto& a, const auto& b) {
        return static_cast<bool>(std::invoke(compare, a, b));
    };
    if (last - first < 2 || !is_before(first[1], first[0])) return std::is_sorted(first, last, is_before);
    const auto not_before = [&is_before](const auto& a, const auto& b) { return !is_before(b, a); };
    if (!std::is_sorted(first, last, not_before)) return false;
    std::reverse(first, last);
    return true;
}

template <class Iterator, class Compare>
bool merge_sort_elements(thread_pool* pool, Iterator first, Iterator last, Compare& compare,
                         const loop_options& options) {
    using value = std::iter_value_t<Iterator>;
    const auto count = static_cast<std::ptrdiff_t>(last - first);
    const auto size = static_cast<std::size_t>(count);
    loop_run run(options, size);
    if (run.is_over()) return false;
    if (detail::is_in_order(first, last, compare)) {
        if (size != 0) run.advance(size);
        return true;
    }
    const auto grain = static_cast<std::ptrdiff_t>(std::min(run.has_grain() ? run.grain() : 2048, size));
    sort_buffer<value> buffer(size);
    const auto sort = [&](auto source, auto other, bool to_other) {
        merge_sort<decltype(source), decltype(other), Compare> algorithm(source, other, compare, run, grain);
        detail::in_fork_tree(pool, [&](fork_scope& scope) {
            // Inside the tree. So if the tree cannot be entered, all elements are still in the range.
            if constexpr (!sort_buffer<value>::is_raw) buffer.fill(first, scope, options);
            algorithm.sort(scope, 0, count, to_other);
        });
        algorithm.throw_errors();
    };
    if constexpr (sort_buffer<value>::is_raw)
        sort(first, buffer.begin(), false);
    else
        sort(buffer.begin(), first, true);
    return !run.is_over();
}

template <class Iterator, class Compare>
bool stable_sort_elements(thread_pool* pool, Iterator first, Iterator last, Compare& compare,
                          const loop_options& options) {
    if constexpr (is_sort<Iterator, Compare>()) {
        if constexpr (is_branchless<Iterator, Compare> && std::is_integral_v<std::iter_value_t<Iterator>>) {
            return detail::sort_elements(pool, first, last, compare, options); // equal integers are the same
        } else if constexpr (std::contiguous_iterator<Iterator>) { // to instantiate the algorithm less often
            auto* const begin = std::to_address(first);
            return detail::merge_sort_elements(pool, begin, begin + (last - first), compare, options);
        } else {
            return detail::merge_sort_elements(pool, first, last, compare, options);
        }
    }
    return false;
}

} // namespace detail

// ---- the calls

/// Sorts [first, last) with the order `compare`, like std::stable_sort. Equal elements keep their order. This
/// thread and workers of this_pool() sort in parallel.
///
/// Needs memory for as many elements as the range has. Throws std::bad_alloc and has no effect if there is
/// not enough memory. A sorted range needs no memory. A contiguous range of integers needs none, either, if
/// `compare` is a std::less or a std::greater.
///
/// All threads share one `compare`. If `compare` throws, the sort ends. parallel_stable_sort() throws the
/// exception when no thread sorts any more, and suppressed_exceptions() returns the other exceptions. If a
/// stop is requested through `options.stop` before the end, returns false. In both cases, the range still has
/// all its elements, but in no particular order. If a move of an element throws, some elements may be in a
/// moved-from state, or may be copies of other elements. Otherwise, sorts all elements and returns true. In
/// all other respects, the function behaves like parallel_sort().
template <std::random_access_iterator Iterator, class Compare = std::less<>>
bool parallel_stable_sort(Iterator first, Iterator last, Compare compare = {},
                          const loop_options& options = {}) {
    return detail::stable_sort_elements(nullptr, first, last, compare, options);
}
/// Sorts [first, last) like the overload without a pool, in this thread and in workers of `pool`.
template <std::random_access_iterator Iterator, class Compare = std::less<>>
bool parallel_stable_sort(thread_pool& pool, Iterator first, Iterator last, Compare compare = {},
                          const loop_options& options = {}) {
    return detail::stable_sort_elements(&pool, first, last, compare, options);
}

/// Sorts a range like the overload with two iterators.
template <std::ranges::random_access_range Range, class Compare = std::less<>>
    requires std::ranges::common_range<Range>
bool parallel_stable_sort(Range&& range, Compare compare = {}, const loop_options& options = {}) {
    return detail::stable_sort_elements(nullptr, std::ranges::begin(range), std::ranges::end(range), compare,
                                        options);
}
/// Sorts a range like the overload with two iterators, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, class Compare = std::less<>>
    requires std::ranges::common_range<Range>
bool parallel_stable_sort(thread_pool& pool, Range&& range, Compare compare = {},
                          const loop_options& options = {}) {
    return detail::stable_sort_elements(&pool, std::ranges::begin(range), std::ranges::end(range), compare,
                                        options);
}

} // namespace ekiden::inline EKIDEN_ABI
