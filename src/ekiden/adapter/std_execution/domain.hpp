/// The domain of the schedulers of this library. The domain defines how bulk algorithms and sync_wait() of
/// the sender/receiver model run.
///
/// Part: adapter. Used by: adapter/std_execution/scheduler.hpp.
#pragma once

#include <ekiden/adapter/std_execution/names.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

template <executor Executor>
class executor_scheduler;

namespace detail {

/// Calls `use(child, policy, shape, f)` with the parts of a sender of a bulk algorithm.
template <class Sender, class Use>
constexpr decltype(auto) with_bulk_parts(Sender& sender, Use use) {
    auto& [tag, data, child] = sender;
    auto& [policy, shape, f] = data;
    if constexpr (requires { policy.__get(); }) // stdexec stores a wrapper of the policy
        return use(child, policy.__get(), shape, f);
    else
        return use(child, policy, shape, f);
}

/// Whether `Sender` is a bulk algorithm whose calls may run in parallel.
template <class Sender>
inline constexpr bool is_parallel_bulk = false;
template <class Sender>
    requires std::same_as<senders::tag_of_t<Sender>, senders::bulk_chunked_t>
                 || std::same_as<senders::tag_of_t<Sender>, senders::bulk_unchunked_t>
inline constexpr bool is_parallel_bulk<Sender> = decltype(detail::with_bulk_parts(
    std::declval<std::remove_reference_t<Sender>&>(), []<class Policy>(auto&, const Policy&, auto&, auto&) {
        return std::bool_constant<std::same_as<Policy, senders::parallel_policy>
                                  || std::same_as<Policy, senders::parallel_unsequenced_policy>>();
    }))::value;

/// The function of a bulk algorithm. One call of parallel_bulk makes all calls of `F`, by a parallel loop in
/// the pool. If `IsChunked` is true, `F` takes two numbers, the begin and the end of a chunk. Otherwise `F`
/// takes one number. If `Pool` is not a pointer to a pool, the loop is not parallel.
template <bool IsChunked, std::integral Shape, class F, class Pool>
struct parallel_bulk {
    template <class... Args>
    static constexpr bool calls_nothrow = IsChunked ? std::is_nothrow_invocable_v<F&, Shape, Shape, Args...>
                                                    : std::is_nothrow_invocable_v<F&, Shape, Args...>;

    template <class... Args>
    void operator()(Shape first, Shape last, Args&... args) noexcept(calls_nothrow<Args&...>) {
        const auto step = [&](std::size_t from, std::size_t to) {
            if constexpr (IsChunked) {
                std::invoke(f, static_cast<Shape>(first + static_cast<Shape>(from)),
                            static_cast<Shape>(first + static_cast<Shape>(to)), args...);
            } else {
                for (; from != to; ++from)
                    std::invoke(f, static_cast<Shape>(first + static_cast<Shape>(from)), args...);
            }
        };
        const auto size = static_cast<std::size_t>(last - first);
        if constexpr (std::same_as<Pool, thread_pool*>)
            (void)detail::run_loop(pool, size, loop_options(), step);
        else
            step(0, size);
    }

    [[no_unique_address]] Pool pool;
    F f;
};

/// Returns `part` as an rvalue if `Whole` is not a reference.
template <class Whole, class Part>
[[nodiscard]] constexpr decltype(auto) moved_like(Part& part) noexcept {
    if constexpr (std::is_lvalue_reference_v<Whole>)
        return std::as_const(part);
    else
        return std::move(part);
}

} // namespace detail

template <class Sender>
    requires requires { typename std::remove_cvref_t<Sender>::sender_concept; }
auto sync_wait(Sender&& sender); // in sync_wait_sender.hpp

/// The domain of the schedulers of this library.
///
/// If bulk, bulk_chunked or bulk_unchunked follows work on a pool, and has the policy `par` or `par_unseq`,
/// its calls run like the iterations of parallel_for(). Then a worker makes the calls, and idle workers help.
/// On a strand, a lane or a loop, the calls run one after the other, in one task.
///
/// sync_wait() of the implementation calls ekiden::sync_wait() if this domain is the completion domain.
struct executor_domain {
    /// Replaces a parallel bulk algorithm by a sequential one, whose only call runs the parallel loop.
    template <class Sender, class Env>
        requires detail::is_parallel_bulk<Sender>
    [[nodiscard]] constexpr auto transform_sender(senders::set_value_t, Sender&& sender,
                                                  const Env& env) const {
        return detail::with_bulk_parts(sender, [&]<class Child, class F>(Child& child, const auto&,
                                                                         auto& shape, F& f) {
            constexpr bool is_chunked = std::same_as<senders::tag_of_t<Sender>, senders::bulk_chunked_t>;
            auto pool = pool_of(
                senders::get_completion_scheduler<senders::set_value_t>(senders::get_env(child), env));
            return senders::bulk_chunked(
                detail::moved_like<Sender>(child), senders::seq, shape,
                detail::parallel_bulk<is_chunked, std::remove_cvref_t<decltype(shape)>,
                                      std::remove_const_t<F>, decltype(pool)>{pool,
                                                                              detail::moved_like<Sender>(f)});
        });
    }

    /// Calls ekiden::sync_wait().
    template <senders::sender Sender>
    auto apply_sender(senders_sync_wait::sync_wait_t, Sender&& sender) const {
        return ekiden::sync_wait(std::forward<Sender>(sender));
    }

private:
    struct no_pool {};
    static thread_pool* pool_of(const executor_scheduler<thread_pool::executor_type>& where) noexcept;
    template <class Scheduler>
    static no_pool pool_of(const Scheduler&) noexcept {
        return {};
    }
};

} // namespace ekiden::inline EKIDEN_ABI
