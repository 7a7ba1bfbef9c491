/// One value out of many, combined in parallel.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/parallel_loop.hpp>

#include <concepts>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Throws std::system_error(operation_canceled).
[[noreturn]] void throw_reduction_stopped();

// ---- private: the parts of a reduction

/// `step(value, from, to)` combines the value with those of [from, to), in this order.
template <class T, class Combine, class Step>
struct reduction {
    loop_run& run;
    const T& identity;
    Combine& combine;
    Step& step;

    /// Splits when somebody asks.
    T on_request(fork_scope& scope, std::size_t first, std::size_t last) const {
        T sum = identity;
        first = loop_until_split(scope, run, first, last, [&](std::size_t from, std::size_t to) {
            sum = step(std::move(sum), from, to);
        });
        if (first == last) return sum;
        const std::size_t middle = first + (last - first + 1) / 2;
        auto [left, right] = parallel_invoke(
            scope, [this, first, middle](fork_scope& s) { return on_request(s, first, middle); },
            [this, middle, last](fork_scope& s) { return on_request(s, middle, last); });
        return combine(std::move(sum), combine(std::move(left), std::move(right)));
    }

    /// Splits always in the same places.
    T in_fixed_shape(fork_scope& scope, std::size_t first, std::size_t last, std::size_t grain) const {
        if (run.is_over()) return identity;
        if (last - first <= grain) {
            try {
                T sum = step(T(identity), first, last);
                run.advance(last - first);
                return sum;
            } catch (...) {
                run.end();
                throw;
            }
        }
        const std::size_t middle = first + (last - first) / 2;
        auto [left, right] = parallel_invoke(
            scope,
            [this, first, middle, grain](fork_scope& s) { return in_fixed_shape(s, first, middle, grain); },
            [this, middle, last, grain](fork_scope& s) { return in_fixed_shape(s, middle, last, grain); });
        return combine(std::move(left), std::move(right));
    }
};

template <class T, class Combine, class Step>
T run_reduction(std::size_t total, const T& identity, Combine& combine, const loop_options& options,
                Step step) {
    loop_run run(options, total);
    const reduction<T, Combine, Step> parts{run, identity, combine, step};
    constexpr std::size_t usual_grain = 1024;
    T result = total == 0 || run.is_over() ? identity : in_fork_tree(options.pool, [&](fork_scope& scope) {
        return options.deterministic
                   ? parts.in_fixed_shape(scope, 0, total, run.has_grain() ? run.grain() : usual_grain)
                   : parts.on_request(scope, 0, total);
    });
    if (run.is_over()) throw_reduction_stopped();
    return result;
}

// ---- the calls

/// Combines `map(i)` for each i in [first, last), and returns the result; `identity` for an empty range.
/// `combine(a, b)` must be associative, with `identity` as its neutral element; it need not be commutative:
/// the order is that of the numbers. Which neighbours are combined first differs from call to call, unless
/// `options.deterministic`: then results that depend on it, such as sums of floating-point numbers, are the
/// same each time. T is copied from `identity` for each piece. Throws std::system_error(operation_canceled)
/// if a stop is requested before the end; otherwise as parallel_for().
template <std::integral First, std::integral Last, class T, class Map, class Combine>
T parallel_reduce(First first, Last last, T identity, Map&& map, Combine&& combine,
                  const loop_options& options = {}) {
    using index = std::common_type_t<First, Last>;
    using number = std::make_unsigned_t<index>;
    const auto begin = static_cast<number>(static_cast<index>(first));
    const auto end = static_cast<number>(static_cast<index>(last));
    const bool is_empty = !(static_cast<index>(first) < static_cast<index>(last));
    return run_reduction(is_empty ? 0 : static_cast<std::size_t>(static_cast<number>(end - begin)), identity,
                         combine, options, [&map, &combine, begin](T sum, std::size_t from, std::size_t to) {
                             for (; from != to; ++from) {
                                 const auto i = static_cast<index>(
                                     static_cast<number>(begin + static_cast<number>(from)));
                                 sum = std::invoke(combine, std::move(sum), std::invoke(map, i));
                             }
                             return sum;
                         });
}

/// As above, for `map(element)` of the elements of a range, or for the elements themselves.
template <std::ranges::random_access_range Range, class T, class Combine = std::plus<>,
          class Map = std::identity>
    requires std::ranges::sized_range<Range>
T parallel_reduce(Range&& range, T identity, Combine&& combine = {}, Map&& map = {},
                  const loop_options& options = {}) {
    const auto begin = std::ranges::begin(range);
    using difference = std::ranges::range_difference_t<Range>;
    return run_reduction(static_cast<std::size_t>(std::ranges::size(range)), identity, combine, options,
                         [&map, &combine, begin](T sum, std::size_t from, std::size_t to) {
                             for (auto at = begin + static_cast<difference>(from); from != to; ++from, ++at)
                                 sum = std::invoke(combine, std::move(sum), std::invoke(map, *at));
                             return sum;
                         });
}

} // namespace ekiden::inline EKIDEN_ABI
