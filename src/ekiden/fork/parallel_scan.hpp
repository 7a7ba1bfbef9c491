/// Prefix sums in parallel.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/detail/ordered_loop.hpp>
#include <ekiden/fork/detail/scan_pieces.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {
namespace detail {

/// Scans parts of a range. If `Inclusive` is true, a result includes its own element.
template <bool Inclusive, class T, class Range, class Output, class Combine>
class scan_of_range {
public:
    scan_of_range(Range& range, Output output, Combine& combine)
        : input_(std::ranges::begin(range)), output_(output), combine_(combine) {}

    [[nodiscard]] T scan(std::optional<T>&& before, std::size_t first, std::size_t last) const {
        auto in = input_ + static_cast<std::ranges::range_difference_t<Range>>(first);
        auto out = output_ + static_cast<std::iter_difference_t<Output>>(first);
        if constexpr (Inclusive) {
            if (!before) {
                before.emplace(*in);
                *out = std::as_const(*before);
                ++first, ++in, ++out;
            }
        }
        return onward(*std::move(before), in, out, last - first);
    }

    [[nodiscard]] T sum(std::size_t first, std::size_t last) const {
        auto in = input_ + static_cast<std::ranges::range_difference_t<Range>>(first);
        T value(*in);
        for (++first, ++in; first != last; ++first, ++in)
            value = std::invoke(combine_, std::move(value), *in);
        return value;
    }

private:
    using input = std::ranges::iterator_t<Range>;

    // If this function were inlined, g++ would keep the value in memory instead of a register.
    EKIDEN_NOINLINE T onward(T value, input in, Output out, std::size_t count) const {
        for (; count != 0; --count, ++in, ++out) {
            if constexpr (Inclusive) {
                value = std::invoke(combine_, std::move(value), *in);
                *out = std::as_const(value);
            } else {
                // The output may be the input, so the element is read first.
                T next(std::invoke(combine_, std::as_const(value), *in));
                *out = std::move(value);
                value = std::move(next);
            }
        }
        return value;
    }

    const input input_;
    const Output output_;
    Combine& combine_;
};

/// Returns whether values of type T can be combined with each other and with the elements of a range, and be
/// written to the output. If not, the compilation fails with a message.
template <class T, class Range, class Output, class Combine>
constexpr bool is_scan() {
    using element = std::ranges::range_reference_t<Range>;
    constexpr bool can_copy = std::copy_constructible<T> && std::movable<T>;
    static_assert(can_copy, "ekiden: parallel_inclusive_scan, parallel_exclusive_scan: the sums must be "
                            "copyable");
    constexpr bool can_begin = std::constructible_from<T, element>;
    static_assert(can_begin, "ekiden: parallel_inclusive_scan, parallel_exclusive_scan: a sum must be "
                             "constructible from an element");
    constexpr bool can_add = std::is_invocable_r_v<T, Combine&, T, element>
                             && std::is_invocable_r_v<T, Combine&, const T&, element>
                             && std::is_invocable_r_v<T, Combine&, T, T>;
    static_assert(can_add, "ekiden: parallel_inclusive_scan, parallel_exclusive_scan: combine must be "
                           "callable as combine(T, element) and combine(T, T) and return a T, where T is the "
                           "type of the sums");
    constexpr bool can_write = std::indirectly_writable<Output, const T&>;
    static_assert(can_write, "ekiden: parallel_inclusive_scan, parallel_exclusive_scan: a sum must be "
                             "assignable to *output");
    constexpr bool is_separate = has_separate_elements<Output>;
    static_assert(is_separate, "ekiden: parallel_inclusive_scan, parallel_exclusive_scan: two threads must "
                               "not write to neighboring elements of a std::vector<bool>, which share a "
                               "byte; take std::vector<char>");
    return can_copy && can_begin && can_add && can_write && is_separate;
}

template <bool Inclusive, class T, class Range, class Output, class Combine>
bool scan_range(thread_pool* pool, Range& range, Output output, std::optional<T> before, Combine& combine,
                const loop_options& options) {
    if constexpr (is_scan<T, Range, Output, Combine>()) {
        const auto total = static_cast<std::size_t>(std::ranges::size(range));
        constexpr std::size_t most_bytes = 32 * 1024; // several chunks fit into the cache of a processor
        constexpr std::size_t fewest_chunks = 256;
        const std::size_t usual = std::clamp<std::size_t>(total / fewest_chunks, 1,
                                                          std::max<std::size_t>(most_bytes / sizeof(T), 1));
        const std::size_t chunk = std::clamp<std::size_t>(options.grain, usual, std::max(total, usual));
        using scan = scan_of_range<Inclusive, T, Range, Output, Combine>;
        scan algorithm(range, output, combine);
        scan_pieces<T, scan, Combine> pieces(algorithm, combine, std::move(before), total, chunk);
        return detail::run_in_order(pool, total, options, pieces, step_aim{4000, 4096});
    }
    return false;
}

} // namespace detail

/// Assigns to each `output[i]` the sum of the elements range[0] to range[i], like std::inclusive_scan.
///
/// `combine(a, b)` adds two values, and must be associative. `combine` need not be commutative, because the
/// operands keep the order of the elements. The type T of the sums is the value type of the range. `combine`
/// is called with a T and an element, or with two values of type T. Each element is read at most twice, and
/// `combine` is called at most about twice for each element. With one thread, it is called once. `output` may
/// be the beginning of `range`. Chunks of elements have at least `options.grain` elements. Sums of
/// floating-point numbers depend on how the elements are grouped, so they may differ between two calls.
///
/// If `combine` or an assignment throws, the scan ends and throws this exception. Returns false if a stop was
/// requested through `options.stop` before the end. In both cases, some results may have been written.
/// Otherwise, returns true. In all other respects, the function behaves like parallel_for().
template <std::ranges::random_access_range Range, std::random_access_iterator Output,
          class Combine = std::plus<>>
    requires std::ranges::sized_range<Range>
bool parallel_inclusive_scan(Range&& range, Output output, Combine&& combine = {},
                             const loop_options& options = {}) {
    using value = std::ranges::range_value_t<Range>;
    return detail::scan_range<true, value>(nullptr, range, output, std::nullopt, combine, options);
}
/// Scans the range like the overload without a pool, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, std::random_access_iterator Output,
          class Combine = std::plus<>>
    requires std::ranges::sized_range<Range>
bool parallel_inclusive_scan(thread_pool& pool, Range&& range, Output output, Combine&& combine = {},
                             const loop_options& options = {}) {
    using value = std::ranges::range_value_t<Range>;
    return detail::scan_range<true, value>(&pool, range, output, std::nullopt, combine, options);
}

/// Assigns to each `output[i]` the sum of `initial` and the elements before range[i], like
/// std::exclusive_scan. `initial` need not be a neutral element. The type of the sums is the type of
/// `initial`. In all other respects, the function behaves like parallel_inclusive_scan().
template <std::ranges::random_access_range Range, std::random_access_iterator Output, class T,
          class Combine = std::plus<>>
    requires std::ranges::sized_range<Range>
bool parallel_exclusive_scan(Range&& range, Output output, T initial, Combine&& combine = {},
                             const loop_options& options = {}) {
    return detail::scan_range<false, T>(nullptr, range, output, std::optional<T>(std::move(initial)), combine,
                                        options);
}
/// Scans the range like the overload without a pool, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, std::random_access_iterator Output, class T,
          class Combine = std::plus<>>
    requires std::ranges::sized_range<Range>
bool parallel_exclusive_scan(thread_pool& pool, Range&& range, Output output, T initial,
                             Combine&& combine = {}, const loop_options& options = {}) {
    return detail::scan_range<false, T>(&pool, range, output, std::optional<T>(std::move(initial)), combine,
                                        options);
}

} // namespace ekiden::inline EKIDEN_ABI
