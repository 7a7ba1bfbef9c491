/// The search for an element, which ends early.
///
/// Part: fork. Used by: parallel_find, parallel_any_of. Private.
///
/// The threads take the pieces of the range from left to right. So few elements behind the match are tested.
/// All threads share the position of the first known match. No thread takes a piece behind this position.
#pragma once

#include <ekiden/fork/detail/ordered_loop.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI::detail {

/// True if the elements are numbers in an array. Then the compiler can test several elements at once.
template <class Range>
inline constexpr bool has_numbers_in_array =
    std::ranges::contiguous_range<Range> && std::is_arithmetic_v<std::ranges::range_value_t<Range>>
    && std::is_same_v<std::remove_cv_t<std::remove_reference_t<std::ranges::range_reference_t<Range>>>,
                      std::ranges::range_value_t<Range>>
    && !std::is_volatile_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

/// Finds a match in a part of a range.
template <class Range, class Matches>
class part_search {
public:
    part_search(Range& range, Matches& matches) : begin_(std::ranges::begin(range)), matches_(matches) {}

    /// Returns the position of the first match in [from, to), or `to`.
    [[nodiscard]] std::size_t operator()(std::size_t from, std::size_t to) const {
        using difference = std::ranges::range_difference_t<Range>;
        auto at = begin_ + static_cast<difference>(from);
        if constexpr (has_numbers_in_array<Range>) {
            // A block has no branch between its elements. A step with many elements is fast, so it does not
            // matter that the block also tests the elements behind a match.
            for (; to - from >= block; from += block, at += static_cast<difference>(block)) {
                if (has_match(std::to_address(at))) break;
            }
        }
        for (; from != to; ++from, ++at) {
            if (std::invoke(matches_, *at)) break;
        }
        return from;
    }

private:
    static constexpr std::size_t block = 32;

    template <class Number>
    [[nodiscard]] bool has_match(Number* at) const {
        unsigned found = 0; // with a bool, g++ would not use the vector unit
        for (std::size_t i = 0; i != block; ++i)
            found |= static_cast<bool>(std::invoke(matches_, at[i])) ? 1U : 0U;
        return found != 0;
    }

    const std::ranges::iterator_t<Range> begin_;
    Matches& matches_;
};

/// Tells which position a search returns.
enum class search_for : unsigned char {
    first_match, ///< the match with the lowest position
    any_match,   ///< any match; the search ends at the first match that a thread finds
};

/// The pieces of a search. All threads share this object.
template <search_for Wanted, class Search>
class search_pieces {
public:
    struct piece {
        std::size_t first;
        std::size_t last;
        [[nodiscard]] std::size_t size() const noexcept { return last - first; }
    };
    struct hand {}; // a thread keeps nothing between two pieces

    search_pieces(const Search& search, std::size_t total) noexcept : search_(search), end_(total) {}

    [[nodiscard]] std::optional<piece> take(hand&, std::size_t size) noexcept {
        const std::size_t end = end_.load(sys::relaxed);
        // Relaxed, because only the positions are shared.
        std::size_t first = next_.load(sys::relaxed);
        while (first < end) {
            const std::size_t last = first + std::min(size, end - first);
            if (next_.compare_exchange_weak(first, last, sys::relaxed, sys::relaxed))
                return piece{first, last};
        }
        return std::nullopt;
    }

    void run(hand&, const piece& p) {
        std::size_t found = search_(p.first, p.last);
        if (found == p.last) return;
        if constexpr (Wanted == search_for::any_match) found = 0; // no piece begins before 0
        std::size_t end = end_.load(sys::relaxed);
        // Relaxed: a thread that reads an old position only makes needless tests.
        while (found < end && !end_.compare_exchange_weak(end, found, sys::relaxed, sys::relaxed)) {
        }
    }

    /// Returns the position of the first match, or the number of elements if there is none. Any match of a
    /// search for any match has the position 0. Call this at the end of the loop.
    [[nodiscard]] std::size_t result() const noexcept { return end_.load(sys::relaxed); }

private:
    const Search& search_;
    alignas(sys::isolation) sys::atomic<std::size_t> next_{0}; // the first element that no thread has taken
    alignas(sys::isolation) sys::atomic<std::size_t> end_;     // the first known match
};

/// Searches a range. Returns the position of the match, or the size of the range. Throws
/// operation_canceled if a stop was requested before the end.
template <search_for Wanted, class Range, class Matches>
std::size_t search_range(const char* algorithm, thread_pool* pool, Range& range, Matches& matches,
                         const loop_options& options) {
    const part_search<Range, Matches> search(range, matches);
    const auto total = static_cast<std::size_t>(std::ranges::size(range));
    search_pieces<Wanted, part_search<Range, Matches>> pieces(search, total);
    // Long steps, because all threads write the position of the next piece.
    if (!detail::run_in_order(pool, total, options, pieces, step_aim{8000, 65'536})) throw_stopped(algorithm);
    return pieces.result();
}

/// True if `Predicate` can be called with an element of the range.
template <class Predicate, class Range>
inline constexpr bool is_test_of = requires(Predicate& test, std::ranges::range_reference_t<Range> element) {
    { std::invoke(test, static_cast<decltype(element)>(element)) } -> std::convertible_to<bool>;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
