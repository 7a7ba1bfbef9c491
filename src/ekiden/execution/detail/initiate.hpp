/// Implements how post, dispatch and defer pass a handler to executors.
///
/// Part: execution. Used by: post.hpp, dispatch.hpp, defer.hpp. Private.
#pragma once

#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/inline_executor.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// Selects the function of the executor to which a handler is passed.
enum class way : std::uint8_t { post, dispatch, defer };

template <way Way, class E, class F, class A>
void give_by(const E& e, F&& f, const A& allocator) {
    if constexpr (Way == way::post)
        e.post(std::forward<F>(f), allocator);
    else if constexpr (Way == way::dispatch)
        e.dispatch(std::forward<F>(f), allocator);
    else
        e.defer(std::forward<F>(f), allocator);
}

/// A function that dispatches a handler to the associated executor of the handler. Before the dispatch, the
/// function counts as outstanding work of the context of the associated executor. If the handler is an
/// executor_binder, only the target of the binder is passed on.
template <class Handler>
class work_dispatcher {
    using executor_type = associated_executor_t<Handler>;

public:
    /// `runner` is the context that will run this function. If the associated executor of the handler has the
    /// same context, no work is counted. In this case, the queued function already keeps the context running.
    template <class H>
    work_dispatcher(H&& handler, const execution_context& runner)
        : handler_(std::forward<H>(handler)),
          counts_(&ekiden::get_associated_executor(handler_).context() != &runner) {
        if (counts_) ekiden::get_associated_executor(handler_).on_work_started();
    }
    work_dispatcher(work_dispatcher&& other) noexcept(std::is_nothrow_move_constructible_v<Handler>)
        : handler_(std::move(other.handler_)), counts_(std::exchange(other.counts_, false)) {}
    ~work_dispatcher() {
        if (counts_) ekiden::get_associated_executor(handler_).on_work_finished();
    }

    void operator()() {
        const auto allocator = ekiden::get_associated_allocator(handler_);
        if constexpr (requires { is_binder(handler_); }) {
            handler_.get_executor().dispatch(std::move(handler_.get()), allocator);
        } else { // the executor is copied, because it may be a part of the moved handler
            const struct kept {
                executor_type where;
                bool counts;
                ~kept() {
                    if (counts) where.on_work_finished();
                }
            } own{ekiden::get_associated_executor(handler_), std::exchange(counts_, false)};
            own.where.dispatch(std::move(handler_), allocator);
        }
    }

private:
    template <class T, class E>
    static void is_binder(const executor_binder<T, E>&);

    Handler handler_;
    bool counts_;
};

/// True if handlers of this type have an associated executor.
template <class Handler>
inline constexpr bool has_own_executor =
    !std::same_as<associated_executor_t<Handler, inline_executor>, inline_executor>
    || !std::same_as<associated_executor_t<Handler>, system_executor>;

template <way Way>
struct initiate_by {
    /// Passes the handler to the associated executor of the handler.
    template <class Handler>
    void operator()(Handler&& handler) const {
        const auto allocator = ekiden::get_associated_allocator(handler);
        const associated_executor_t<std::decay_t<Handler>> where = ekiden::get_associated_executor(handler);
        detail::give_by<Way>(where, std::forward<Handler>(handler), allocator);
    }

    /// Passes the handler to `first`. If the associated executor of the handler is not `first`, `first`
    /// dispatches the handler to that executor.
    template <class Handler, executor Executor>
    void operator()(Handler&& handler, const Executor& first) const {
        using handler_type = std::decay_t<Handler>;
        const auto allocator = ekiden::get_associated_allocator(handler);
        if constexpr (has_own_executor<handler_type>) {
            if (!is_for(ekiden::get_associated_executor(handler), first)) {
                work_dispatcher<handler_type> hop(std::forward<Handler>(handler), first.context());
                return detail::give_by<Way>(first, std::move(hop), allocator);
            }
        }
        detail::give_by<Way>(first, std::forward<Handler>(handler), allocator);
    }

private:
    template <class Own, class First>
    static bool is_for(const Own& own, const First& first) {
        if constexpr (std::same_as<Own, First>)
            return own == first;
        else
            return false;
    }
};

} // namespace ekiden::inline EKIDEN_ABI::detail
