/// Combines many values into one, in parallel.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/fork/detail/parallel_loop.hpp>

#include <concepts>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- private: the parts of a reduction

namespace detail {

/// Runs the piece [first, last) of a loop. Two loops with the same size and the same grain are always split
/// in the same places.
template <class T, class Combine, class Step>
T in_fixed_shape(const splitting_loop<T, Combine, Step>& loop, fork_scope& scope, std::size_t first,
                 std::size_t last, std::size_t grain) {
    if (loop.run.is_over()) return loop.identity;
    if (last - first <= grain) {
        return loop.run.ended_by_throw([&] {
            T value = loop.after_step(loop.identity, first, last);
            loop.run.advance(last - first);
            return value;
        });
    }
    const std::size_t middle = first + (last - first) / 2;
    auto [left, right] = loop.run.fork_pieces(
        scope,
        [&loop, first, middle, grain](fork_scope& s) {
            return detail::in_fixed_shape(loop, s, first, middle, grain);
        },
        [&loop, middle, last, grain](fork_scope& s) {
            return detail::in_fixed_shape(loop, s, middle, last, grain);
        });
    return loop.combined(std::move(left), std::move(right));
}

/// `step(value, from, to)` combines `value` with the mapped values of [from, to), from left to right.
template <class T, class Combine, class Step>
T run_reduction(thread_pool* pool, std::size_t total, const T& identity, Combine& combine,
                const loop_options& options, Step step) {
    static constinit loop_history history; // all reductions with these types of callables share it
    constexpr std::size_t usual_grain = 1024;
    loop_run run(options, total);
    const splitting_loop<T, Combine, Step> loop{run, identity, combine, step};
    const auto all = [&](fork_scope& scope) {
        if (!options.deterministic) return loop(scope, 0, total);
        return detail::in_fixed_shape(loop, scope, 0, total, run.has_grain() ? run.grain() : usual_grain);
    };
    T result = total == 0 || run.is_over() ? identity
                                           : detail::in_fork_tree(pool, all, total > 1 ? &history : nullptr);
    if (run.is_over()) throw_stopped("parallel_reduce");
    return result;
}

/// The result type of `map` for an argument of type `In`. The type is void if `map` cannot be called with
/// such an argument.
template <class Map, class In>
struct mapped {
    using type = void;
};
template <class Map, class In>
    requires std::invocable<Map&, In>
struct mapped<Map, In> {
    using type = std::invoke_result_t<Map&, In>;
};

/// Returns true if values of type T can be combined with each other, and with the results of `map` for
/// arguments of type `In`. If they cannot be combined, the compilation fails with a message.
template <class T, class In, class Map, class Combine>
constexpr bool is_reduction() {
    using image = typename mapped<Map, In>::type;
    constexpr bool can_map = std::invocable<Map&, In> && !std::is_void_v<image>;
    static_assert(can_map, "ekiden: parallel_reduce: map must be callable as map(element), or map(i) with "
                           "a number, and return what is to be combined");
    constexpr bool can_copy = std::copy_constructible<T> && std::movable<T>;
    static_assert(can_copy, "ekiden: parallel_reduce: the type of identity must be copyable: each piece "
                            "begins with a copy");
    if constexpr (can_map && can_copy) {
        constexpr bool can_add = std::is_invocable_r_v<T, Combine&, T, image>;
        static_assert(can_add, "ekiden: parallel_reduce: combine must be callable as combine(T, mapped) and "
                               "return a T, where T is the type of identity");
        constexpr bool can_join = std::is_invocable_r_v<T, Combine&, T, T>;
        static_assert(can_join, "ekiden: parallel_reduce: combine must be callable as combine(T, T) and "
                                "return a T, where T is the type of identity");
        return can_add && can_join;
    }
    return false;
}

template <class First, class Last, class T, class Map, class Combine>
T reduce_numbers(thread_pool* pool, First first, Last last, const T& identity, Map& map, Combine& combine,
                 const loop_options& options) {
    constexpr bool countable = can_be_bound<First> && can_be_bound<Last>;
    static_assert(countable, "ekiden: parallel_reduce(first, last, ...): the bounds must be integers of at "
                             "most 64 bits, and not bool");
    if constexpr (countable) {
        if constexpr (is_reduction<T, std::common_type_t<First, Last>, Map, Combine>()) {
            const auto numbers = detail::numbers_between("parallel_reduce", first, last);
            return detail::run_reduction(pool, numbers.size, identity, combine, options,
                                         [&map, &combine, numbers](T sum, std::size_t from, std::size_t to) {
                                             for (; from != to; ++from)
                                                 sum = std::invoke(combine, std::move(sum),
                                                                   std::invoke(map, numbers[from]));
                                             return sum;
                                         });
        }
    }
    throw_stopped("parallel_reduce");
}

template <class Range, class T, class Map, class Combine>
T reduce_elements(thread_pool* pool, Range& range, const T& identity, Map& map, Combine& combine,
                  const loop_options& options) {
    if constexpr (is_reduction<T, std::ranges::range_reference_t<Range>, Map, Combine>()) {
        const auto begin = std::ranges::begin(range);
        using difference = std::ranges::range_difference_t<Range>;
        return detail::run_reduction(
            pool, static_cast<std::size_t>(std::ranges::size(range)), identity, combine, options,
            [&map, &combine, begin](T sum, std::size_t from, std::size_t to) {
                for (auto at = begin + static_cast<difference>(from); from != to; ++from, ++at)
                    sum = std::invoke(combine, std::move(sum), std::invoke(map, *at));
                return sum;
            });
    }
    throw_stopped("parallel_reduce");
}

} // namespace detail

// ---- the calls

/// Combines `map(i)` for each i in [first, last), in this thread and in workers of this_pool(). Returns the
/// combined value, or `identity` if the range is empty.
///
/// `map` is called as map(i) with a number of the common type of the bounds. `combine(a, b)` must be
/// associative, and `identity` must be the neutral element of `combine`. `combine` need not be commutative,
/// because the operands keep the order of the numbers. The reduction runs in pieces, and each piece begins
/// with a copy of `identity`.
///
/// By default, each call may group the values differently. If `options.deterministic` is set, every call
/// groups the values in the same way. So even a result that depends on the grouping, such as a sum of
/// floating-point numbers, is the same in every call.
///
/// If `map` or `combine` throws, the reduction ends and throws this exception. Throws
/// operation_canceled if a stop is requested before the end. In all other respects, the
/// function behaves like parallel_for().
template <std::integral First, std::integral Last, class T, class Map, class Combine = std::plus<>>
[[nodiscard]] T parallel_reduce(First first, Last last, T identity, Map&& map, Combine&& combine = {},
                                const loop_options& options = {}) {
    return detail::reduce_numbers(nullptr, first, last, identity, map, combine, options);
}
/// Combines the values like the overload without a pool, in this thread and in workers of `pool`.
template <std::integral First, std::integral Last, class T, class Map, class Combine = std::plus<>>
[[nodiscard]] T parallel_reduce(thread_pool& pool, First first, Last last, T identity, Map&& map,
                                Combine&& combine = {}, const loop_options& options = {}) {
    return detail::reduce_numbers(&pool, first, last, identity, map, combine, options);
}

/// Combines `map(element)` for each element of a range. parallel_reduce(range, T()) returns the sum of the
/// elements.
template <std::ranges::random_access_range Range, class T, class Map = std::identity,
          class Combine = std::plus<>>
    requires std::ranges::sized_range<Range>
[[nodiscard]] T parallel_reduce(Range&& range, T identity, Map&& map = {}, Combine&& combine = {},
                                const loop_options& options = {}) {
    return detail::reduce_elements(nullptr, range, identity, map, combine, options);
}
/// Combines `map(element)` for each element of a range, in this thread and in workers of `pool`.
template <std::ranges::random_access_range Range, class T, class Map = std::identity,
          class Combine = std::plus<>>
    requires std::ranges::sized_range<Range>
[[nodiscard]] T parallel_reduce(thread_pool& pool, Range&& range, T identity, Map&& map = {},
                                Combine&& combine = {}, const loop_options& options = {}) {
    return detail::reduce_elements(&pool, range, identity, map, combine, options);
}

} // namespace ekiden::inline EKIDEN_ABI
