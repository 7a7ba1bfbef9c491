/// The common parts of the parallel algorithms: loops that split when a thread asks for work.
///
/// Part: fork. Used by: the parallel algorithms.
///
/// Each algorithm runs in the calling thread and in workers of a pool. The first argument can be a pool, as
/// in parallel_for(pool, 0, n, body). Without this argument, the algorithm uses this_pool().
/// parallel_invoke() and task_group choose their pool in the same way.
///
/// The algorithm is lazy binary splitting (Tzannes, Caragea, Barua, Vishkin, PPoPP 2010). A loop runs as one
/// piece until another thread asks for work. Then the loop forks half of its remaining iterations. So the
/// program need not choose the size of the pieces. In contrast to lazy binary splitting, other threads can
/// steal the remaining iterations while a long iteration runs.
#pragma once

#include <ekiden/fork/fork_join.hpp>
#include <ekiden/fork/loop_options.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// The state that the pieces of a loop share.
class loop_run {
public:
    loop_run(const loop_options& options, std::size_t total);

    [[nodiscard]] std::size_t grain() const noexcept { return std::max<std::size_t>(options_.grain, 1); }
    [[nodiscard]] bool has_grain() const noexcept { return options_.grain != 0; }

    /// Returns whether the remaining iterations are left out.
    [[nodiscard]] bool is_over() const noexcept { return is_over_.load(sys::relaxed); }
    void end() noexcept { is_over_.store(true, sys::relaxed); }

    /// Calls `part()` and returns its result. If `part()` throws, the rest of the loop is left out.
    template <class Part>
    decltype(auto) ended_by_throw(Part&& part) {
        try {
            return part();
        } catch (...) {
            end();
            throw;
        }
    }

    // ---- the limit of concurrency
    //
    // Each piece of the loop that a thread runs, or that another thread may steal, has a place. With the
    // option `concurrency`, the number of places is limited. The root piece begins with a place.

    [[nodiscard]] bool is_limited() const noexcept { return options_.concurrency != 0; }

    /// Returns whether a place is free. The answer is a hint.
    [[nodiscard]] bool has_place() const noexcept {
        return !is_limited() || places_taken_.load(sys::relaxed) < options_.concurrency;
    }

    /// Acquires a place, and returns false if none is free. Call this only for a limited loop.
    [[nodiscard]] bool take_place() noexcept {
        // Relaxed: the counter protects no data.
        std::size_t taken = places_taken_.load(sys::relaxed);
        while (taken < options_.concurrency || EKIDEN_MUTANT(loop_exceeds_its_limit)) {
            if (places_taken_.compare_exchange_weak(taken, taken + 1, sys::relaxed, sys::relaxed))
                return true;
        }
        return false;
    }
    void release_place() noexcept { places_taken_.fetch_sub(1, sys::relaxed); }

    /// Calls `f(scope)` and `g(scope)`, which run two pieces of a loop. The calls may run in parallel if a
    /// place is free. The caller has a place before and after the call. If one of the two calls throws, the
    /// other call may be left out, so the loop must end in this case.
    template <class F, class G>
    fork_result<F, G> fork_pieces(fork_scope& scope, F&& f, G&& g);

    /// Counts `count` more iterations as done.
    void advance(std::size_t count) {
        if (options_.progress) report(count);
    }

private:
    struct ender {
        loop_run* run;
        void operator()() const noexcept { run->end(); }
    };

    void report(std::size_t count);

    const loop_options& options_;
    const std::size_t total_;
    // Each step reads is_over_, and only the end of the loop writes to it.
    alignas(sys::isolation) sys::atomic<bool> is_over_{false};
    std::optional<std::stop_callback<ender>> on_stop_;
    alignas(sys::isolation) sys::atomic<std::size_t> places_taken_{1}; // only used by a limited loop
    sys::atomic<std::size_t> done_{0};
    sys::slow_lock reporting_;
    std::size_t reported_ = 0; // under reporting_
};

/// How long the steps of a loop should be.
struct step_aim {
    std::uint64_t ns = 2000;
    std::size_t most = 2048; // iterations
};

/// The size of a step, which is the number of iterations that a loop runs between two checks for requests. By
/// default, a step takes about 2 us and has at most 2048 iterations. If the loop has a grain, the size of
/// each step is the grain.
class loop_step {
public:
    explicit loop_step(const loop_run& run, step_aim aim = {}) noexcept
        : size_(run.has_grain() ? run.grain() : 1), is_fixed_(run.has_grain()), aim_(aim) {}

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    /// Returns whether the next step may be long. A step may be long if the last timed step was long, or if
    /// no step has been timed yet.
    [[nodiscard]] bool may_be_long() const noexcept { return may_be_long_; }

    void begin() noexcept {
        if (untimed_ == 0) start_ = sys::now_ns();
    }
    void end() noexcept {
        if (untimed_ != 0) {
            --untimed_;
            return;
        }
        const std::uint64_t took = sys::now_ns() - start_;
        may_be_long_ = took > long_ns;
        const bool grows = !is_fixed_ && took < aim_.ns / 2 && size_ != aim_.most;
        const bool is_slow = took > aim_.ns * 2;
        if (grows)
            size_ = std::min(size_ * 2, aim_.most);
        else if (is_slow && !is_fixed_)
            size_ = std::max<std::size_t>(size_ * aim_.ns / took, 1);
        if (!grows && !is_slow) untimed_ = untimed_steps;
    }

private:
    static constexpr std::uint64_t long_ns = 16'000;
    static constexpr unsigned untimed_steps = 7; // because reading the clock is slow on some machines

    std::size_t size_;
    const bool is_fixed_;
    const step_aim aim_;
    bool may_be_long_ = true;
    unsigned untimed_ = 0; // number of steps until the clock is read again
    std::uint64_t start_ = 0;
};

template <class F, class G>
fork_result<F, G> loop_run::fork_pieces(fork_scope& scope, F&& f, G&& g) {
    if (!is_limited()) return ekiden::parallel_invoke(scope, std::forward<F>(f), std::forward<G>(g));
    if (!take_place()) {
        auto first = detail::fork_call(std::forward<F>(f), scope);
        return std::tuple_cat(std::move(first), detail::fork_call(std::forward<G>(g), scope));
    }
    two_pieces<loop_run> both(*this);
    return ekiden::parallel_invoke(
        scope,
        [&](fork_scope& s) {
            const typename two_pieces<loop_run>::end_of_one end(both);
            return f(s);
        },
        [&](fork_scope& s) {
            const typename two_pieces<loop_run>::end_of_one end(both);
            return g(s);
        });
}

/// A loop that splits when a thread asks for work. The loop combines the values of its pieces in the order of
/// the pieces. A piece begins with a copy of `identity` and calls `value = step(value, from, to)` for each of
/// its steps. While a step runs that may be long, the rest of the piece is a published child.
template <class T, class Combine, class Step>
struct splitting_loop {
    loop_run& run;
    const T& identity;
    Combine& combine;
    Step& step;

    /// Runs the piece [first, last).
    T operator()(fork_scope& scope, std::size_t first, std::size_t last) const {
        T value = identity;
        loop_step pace(run);
        while (first != last && !run.is_over()) {
            const std::size_t left = last - first;
            if (left > run.grain() && run.has_place() && scope.is_work_wanted()) [[unlikely]]
                return combined(std::move(value), split(scope, first, first + (left + 1) / 2, last));
            const std::size_t next = first + std::min(pace.size(), left);
            const auto make_step = [&] {
                run.ended_by_throw([&] {
                    pace.begin();
                    value = after_step(std::move(value), first, next);
                    pace.end();
                    run.advance(next - first);
                });
            };
            if (pace.may_be_long() && next != last && run.has_place()) {
                std::optional<T> of_thief;
                run.fork_pieces(
                    scope,
                    [&](fork_scope& inner) {
                        inner.offer_all();
                        make_step();
                    },
                    [&](fork_scope& s) {
                        // If no thread has stolen the child, this call does nothing, and the loop continues.
                        if (&s != &scope) of_thief.emplace((*this)(s, next, last));
                    });
                if (of_thief) return combined(std::move(value), *std::move(of_thief));
            } else {
                make_step();
            }
            first = next;
        }
        return value;
    }

    /// Returns `step(value, from, to)`. If this function were inlined, g++ would keep the value in memory
    /// instead of a register.
    EKIDEN_NOINLINE T after_step(T value, std::size_t from, std::size_t to) const {
        return step(std::move(value), from, to);
    }

    /// Runs the two parts of a piece, possibly in parallel.
    T split(fork_scope& scope, std::size_t first, std::size_t middle, std::size_t last) const {
        auto [left, right] = run.fork_pieces(
            scope, [this, first, middle](fork_scope& s) { return (*this)(s, first, middle); },
            [this, middle, last](fork_scope& s) { return (*this)(s, middle, last); });
        return combined(std::move(left), std::move(right));
    }

    /// Returns the combination of two values. If `combine` throws, the loop ends.
    T combined(T&& left, T&& right) const {
        return run.ended_by_throw([&]() -> T { return combine(std::move(left), std::move(right)); });
    }
};

/// Calls `body(*scope)` as a part of the fork tree of `scope`. Does not begin a new tree.
template <class Body>
void in_fork_tree(fork_scope* scope, Body&& body, loop_history* = nullptr) {
    body(*scope);
}

/// Runs a loop that splits when a thread asks for work. If `Tree` is fork_scope, the loop runs in the tree of
/// this scope. If `Tree` is thread_pool, the loop is the root of a new tree in that pool. A null pool means
/// this_pool(). Returns false if a stop was requested before the end.
template <class Tree, class Step>
bool run_loop(Tree* tree, std::size_t total, const loop_options& options, Step step) {
    static constinit loop_history history; // all loops with this type of body share this history
    struct no_value {};
    constexpr no_value none{};
    const auto combine = [](no_value, no_value) { return no_value(); };
    const auto make_step = [&step](no_value, std::size_t from, std::size_t to) {
        step(from, to);
        return no_value();
    };
    loop_run run(options, total);
    const splitting_loop<no_value, decltype(combine), decltype(make_step)> loop{run, none, combine,
                                                                                make_step};
    if (total != 0 && !run.is_over())
        detail::in_fork_tree(
            tree, [&](fork_scope& scope) { loop(scope, 0, total); },
            total > 1 ? &history : nullptr); // a single iteration forks no call
    return !run.is_over();
}

/// Throws operation_canceled. The message names the algorithm.
[[noreturn]] EKIDEN_COLD void throw_stopped(const char* algorithm);

/// True if a loop can run over numbers of this type. The type must not be bool, and must have at most 64
/// bits.
template <class Number>
inline constexpr bool can_be_bound =
    !std::same_as<std::remove_cv_t<Number>, bool> && sizeof(Number) <= sizeof(std::uint64_t);

/// True if two threads may write to neighboring elements at the same time. False if the elements are bits
/// that share a byte, as in std::vector<bool>.
template <class Iterator>
inline constexpr bool has_separate_elements =
    !std::same_as<std::iter_reference_t<Iterator>, std::vector<bool>::reference>;

/// The numbers of [first, last). The count of the numbers may exceed the largest value of their type, so the
/// count has the type std::size_t.
template <std::integral First, std::integral Last>
struct number_range {
    using index = std::common_type_t<First, Last>;
    using number = std::make_unsigned_t<index>;

    number begin;
    std::size_t size;

    number_range(First first, Last last) noexcept
        : begin(static_cast<number>(static_cast<index>(first))),
          size(static_cast<index>(first) < static_cast<index>(last)
                   ? static_cast<number>(static_cast<number>(static_cast<index>(last)) - begin)
                   : 0) {}

    [[nodiscard]] index operator[](std::size_t place) const noexcept {
        return static_cast<index>(static_cast<number>(begin + static_cast<number>(place)));
    }
};

/// Throws std::invalid_argument.
[[noreturn]] EKIDEN_COLD void throw_negative_bound(const char* algorithm, const char* bound,
                                                   std::intmax_t value);

/// Returns the numbers of [first, last). Throws std::invalid_argument if one bound is unsigned and the other
/// bound is negative.
template <class First, class Last>
number_range<First, Last> numbers_between(const char* algorithm, First first, Last last) {
    if constexpr (std::is_signed_v<First> && std::is_unsigned_v<Last>) {
        if (first < 0) detail::throw_negative_bound(algorithm, "first", first);
    } else if constexpr (std::is_unsigned_v<First> && std::is_signed_v<Last>) {
        if (last < 0) detail::throw_negative_bound(algorithm, "last", last);
    }
    return {first, last};
}

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
