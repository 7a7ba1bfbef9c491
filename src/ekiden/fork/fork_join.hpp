/// Calls that may run in parallel, at about the cost of plain calls.
///
/// Part: fork. Used by: programs, the parallel algorithms. fork_join.md describes the protocol.
///
/// parallel_invoke(f, g) calls f. While f runs, other threads can run g if this thread has offered g to them.
/// This thread offers g only if it offers no older call, or if other threads have asked for more work. If no
/// other thread has stolen g, this thread calls g after f.
///
/// The algorithm is lazy task creation (Mohr, Kranz, Halstead, 1991). The victim of a theft polls for the
/// requests of thieves (like in Acar, Charguéraud, Rainwater, PPoPP 2013). Thieves steal the oldest forked
/// call first. Unlike in these papers, a request for work stays set while workers sleep.
#pragma once

#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/fork/detail/forked_loop.hpp>
#include <ekiden/fork/fork_child.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class thread_pool;

/// A callable of parallel_invoke(), which takes either no parameter or a fork_scope.
template <class F>
concept fork_callable = std::invocable<F, fork_scope&> || std::invocable<F>;

// ---- private: the parts of parallel_invoke()

namespace detail {

/// Remembers whether the loops with a certain body have been short. A loop is short if waking a worker for it
/// saves little or no time. Each short loop adds one point. A long loop that was expected to be short removes
/// one point for each 5 us of its duration. The next loop is expected to be short if the number of points is
/// positive. Thread-safe.
class loop_history {
public:
    static constexpr std::uint64_t short_ns = 150'000; // about three times the duration of a wake-up

    [[nodiscard]] bool expects_short_loop() const noexcept { return points_.load(sys::relaxed) > 0; }

    /// Records a loop that has taken `took_ns`. `was_quiet` says whether the loop was expected to be short.
    void add(std::uint64_t took_ns, bool was_quiet) noexcept;

private:
    static constexpr std::int64_t most_points = 100;

    sys::atomic<std::int64_t> points_{-most_points};
};

/// Calls `body(argument, scope)` as the root of a fork tree in this thread and in workers of `pool`. A null
/// `pool` means this_pool(). If `history` is not null and expects a short loop, the tree wakes no sleeping
/// worker at first. Throws whatever `body` throws.
void enter_fork_tree(thread_pool* pool, void (*body)(void* argument, fork_scope& scope), void* argument,
                     loop_history* history);

/// Calls `body(scope)` like enter_fork_tree(), and returns the result of `body`.
template <class Body>
auto in_fork_tree(thread_pool* pool, Body&& body, loop_history* history = nullptr) {
    using result = std::invoke_result_t<Body&, fork_scope&>;
    if constexpr (std::is_void_v<result>) {
        const auto call = [](void* argument, fork_scope& scope) {
            (*static_cast<std::remove_reference_t<Body>*>(argument))(scope);
        };
        detail::enter_fork_tree(pool, call, std::addressof(body), history);
    } else {
        std::optional<result> value;
        detail::in_fork_tree(pool, [&](fork_scope& scope) { value.emplace(body(scope)); }, history);
        return std::move(*value);
    }
}

/// Calls `f(scope)` if `f` takes a scope, and `f()` otherwise. Returns a tuple with the result of `f`. The
/// tuple is empty if `f` returns void.
template <class F>
auto fork_call(F&& f, fork_scope& scope) {
    const auto call = [&]() -> decltype(auto) {
        if constexpr (std::invocable<F, fork_scope&>)
            return std::invoke(std::forward<F>(f), scope);
        else
            return std::invoke(std::forward<F>(f));
    };
    using result = decltype(call());
    if constexpr (std::is_void_v<result>) {
        call();
        return std::tuple<>();
    } else {
        return std::tuple<result>(call());
    }
}

template <class... F>
using fork_result =
    decltype(std::tuple_cat(detail::fork_call(std::declval<F>(), std::declval<fork_scope&>())...));

/// The type in which a child stores its callable. A small, trivially copyable temporary is copied, so that
/// the call needs no indirection. Any other callable is stored as a reference.
template <class F>
using fork_held =
    std::conditional_t<!std::is_reference_v<F> && std::is_trivially_copyable_v<F> && sizeof(F) <= 32, F, F&&>;

/// The result of a call, or the exceptions of the call. If the callable is an lvalue, `F` is an lvalue
/// reference type, as std::forward needs.
template <class F>
class fork_outcome {
public:
    using result = fork_result<F>;

    void call(F&& f, fork_scope& scope) noexcept {
        try {
            value_.emplace(detail::fork_call(std::forward<F>(f), scope));
        } catch (...) {
            errors_ = caught_fork_errors();
        }
    }

    /// Stores `errors` as the outcome.
    void set_errors(fork_errors errors) noexcept { errors_ = std::move(errors); }

    [[nodiscard]] bool has_thrown() const noexcept { return errors_.thrown != nullptr; }
    [[nodiscard]] result&& value() noexcept { return *std::move(value_); }
    [[nodiscard]] fork_errors errors() noexcept { return std::move(errors_); }

private:
    std::optional<result> value_;
    fork_errors errors_;
};

template <class F>
class forked_call final : public fork_child {
public:
    using result = fork_result<F>;

    forked_call(fork_scope& scope, F& f) noexcept : fork_child(run_here_, scope), held_(static_cast<F&&>(f)) {
        offer();
    }
    ~forked_call() {}

    using fork_child::take_back;

    /// Returns the result of a call that another thread has run. Throws the exception of that call, or the
    /// exceptions that join_and_keep() has stored.
    EKIDEN_COLD EKIDEN_NOINLINE result stolen_result() {
        struct end {
            fork_outcome<F>& outcome;
            ~end() { outcome.~fork_outcome<F>(); }
        } guard{outcome_};
        if (outcome_.has_thrown()) detail::throw_fork_errors(outcome_.errors());
        return outcome_.value();
    }

    /// Waits for the child after the parent's own call has thrown. Call this in the handler of the exception.
    /// join_and_keep() stores the exception. Afterwards, stolen_result() throws all stored exceptions.
    EKIDEN_COLD EKIDEN_NOINLINE void join_and_keep(fork_scope& scope) noexcept {
        fork_errors own = caught_fork_errors();
        if (take_back()) run(this, scope);
        outcome_.set_errors(detail::joined(std::move(own), outcome_.errors()));
    }

private:
    static void run(fork_child* base, fork_scope& scope) noexcept {
        auto* const self = static_cast<forked_call*>(base);
        ::new (static_cast<void*>(std::addressof(self->outcome_))) fork_outcome<F>;
        self->outcome_.call(std::forward<F>(self->held_), scope);
    }

    // This pointer is volatile, so that each fork reads the address from memory. Without volatile, the
    // compiler would keep the address in a register, and each call would have to save this register.
    static inline const volatile function run_here_ = &run;

    fork_held<F> held_;
    union {
        fork_outcome<F> outcome_; // run() constructs it
    };
};

/// Calls two callables, possibly in parallel. Always inlined, because clang and g++ inline only the first few
/// of several calls in a row. Contains no throw expression. With a throw expression, clang would set up the
/// stack frame of a forking call in every call of a recursion.
template <class F, class G>
EKIDEN_ALWAYS_INLINE inline fork_result<F, G> invoke_two(fork_scope& scope, F&& f, G&& g) {
    std::optional<fork_result<F>> first;
    { // If this thread makes the child's call, it destroys the child before the call. So the compiler may
      // turn a tail call into a loop.
        forked_call<G> child(scope, g);
        bool is_whole = true;
        try {
            first.emplace(detail::fork_call(std::forward<F>(f), child));
        } catch (...) {
            is_whole = false;
            child.join_and_keep(scope);
        }
        if (!is_whole || !child.take_back()) [[unlikely]]
            return std::tuple_cat(*std::move(first), child.stolen_result());
    }
    return std::tuple_cat(*std::move(first), detail::fork_call(std::forward<G>(g), scope));
}

template <class F, class G>
EKIDEN_ALWAYS_INLINE inline void plain_run::fork_pieces(fork_scope& scope, F& f, G& g) {
    detail::invoke_two(scope, f, g);
}

/// Calls more than two callables, as the iterations of a loop.
template <class... F, std::size_t... I>
fork_result<F...> invoke_many(fork_scope& scope, std::index_sequence<I...>, F&&... f) {
    std::tuple<F&&...> callables(std::forward<F>(f)...);
    std::tuple<fork_outcome<F>...> outcomes;
    sys::atomic<bool> has_thrown{false};
    const auto call = [&](fork_scope& inner, std::size_t place) noexcept {
        const auto call_one = [&](auto& outcome, auto&& callable) {
            outcome.call(std::forward<decltype(callable)>(callable), inner);
            // Relaxed is enough, because the end of the loop publishes has_thrown.
            if (outcome.has_thrown()) has_thrown.store(true, sys::relaxed);
            return true;
        };
        // The compiler turns this expression into a jump table.
        (void)((place == I && call_one(std::get<I>(outcomes), std::get<I>(std::move(callables)))) || ...);
    };
    plain_run run; // `call` never throws, so no call ends the loop early
    forked_loop<plain_run, decltype(call)> loop(run, call);
    loop(scope, 0, sizeof...(F));
    if (has_thrown.load(sys::relaxed)) [[unlikely]] {
        fork_errors all;
        ((all = detail::joined(std::move(all), std::get<I>(outcomes).errors())), ...);
        detail::throw_fork_errors(std::move(all));
    }
    return std::tuple_cat(std::get<I>(outcomes).value()...);
}

} // namespace detail

// ---- the calls

/// Calls all callables, possibly in parallel. Use this overload in a callable that takes a scope.
///
/// Each callable is called exactly once. A callable that takes a scope gets a scope of its own. This thread
/// calls the first callable. Idle workers, or this thread, call the other callables. Returns when all calls
/// have returned. The result is a tuple of the callables' results, in the order of the callables. A callable
/// that returns void adds no element to the tuple. Everything that the callables do happens before the
/// return. If a callable throws, the other callables are still called. When all calls have ended,
/// parallel_invoke() throws the first exception in the order of the arguments. suppressed_exceptions()
/// returns the other exceptions.
///
/// While this thread waits for a call that another thread runs, this thread runs only calls that were forked
/// inside that call. So the caller may hold a lock across parallel_invoke(), unless the callables acquire the
/// same lock. The stack grows about as deep as with plain calls. A callable must not wait for a task of the
/// pool, because the only worker that could run the task may be waiting for the callable.
template <fork_callable F, fork_callable... More>
EKIDEN_ALWAYS_INLINE inline detail::fork_result<F, More...> parallel_invoke(fork_scope& scope, F&& f,
                                                                            More&&... more) {
    if constexpr (sizeof...(More) == 0)
        return detail::fork_call(std::forward<F>(f), scope);
    else if constexpr (sizeof...(More) == 1)
        return detail::invoke_two(scope, std::forward<F>(f), std::forward<More>(more)...);
    else
        return detail::invoke_many(scope, std::index_sequence_for<F, More...>(), std::forward<F>(f),
                                   std::forward<More>(more)...);
}

/// Calls all callables as the root of a new fork tree, in this thread and in workers of `pool`. Any thread
/// may call this function. In all other respects, this overload behaves like the overload with a scope.
template <fork_callable... F>
    requires(sizeof...(F) > 0)
auto parallel_invoke(thread_pool& pool, F&&... f) {
    return detail::in_fork_tree(
        &pool, [&](fork_scope& scope) { return ekiden::parallel_invoke(scope, std::forward<F>(f)...); });
}

/// Calls all callables as the root of a new fork tree, in this thread and in workers of this_pool().
template <fork_callable... F>
    requires(sizeof...(F) > 0)
auto parallel_invoke(F&&... f) {
    return detail::in_fork_tree(
        nullptr, [&](fork_scope& scope) { return ekiden::parallel_invoke(scope, std::forward<F>(f)...); });
}

} // namespace ekiden::inline EKIDEN_ABI
