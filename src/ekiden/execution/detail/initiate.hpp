/// Implements how post, dispatch and defer pass a handler to executors.
///
/// Part: execution. Used by: post.hpp, dispatch.hpp, defer.hpp. Private.
#pragma once

#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/inline_executor.hpp>
#include <ekiden/execution/task_sink.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
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

/// True if handlers of this type have an associated executor.
template <class Handler>
inline constexpr bool has_own_executor =
    !std::same_as<associated_executor_t<Handler, inline_executor>, inline_executor>
    || !std::same_as<associated_executor_t<Handler>, system_executor>;

/// A handler with an associated executor. The handler counts as outstanding work of the context of this
/// executor until it is called or destroyed. The work ends first, because the handler may own the context.
template <class Handler>
class working_handler {
public:
    /// If the associated executor has the context `runner`, no work is counted. In this case, the operation
    /// that will call the handler already keeps the context running.
    template <class H>
    working_handler(H&& handler, const execution_context& runner)
        : handler_(std::forward<H>(handler)),
          counts_(&ekiden::get_associated_executor(handler_).context() != &runner) {
        if (counts_) ekiden::get_associated_executor(handler_).on_work_started();
    }
    working_handler(working_handler&& other) noexcept(std::is_nothrow_move_constructible_v<Handler>)
        : handler_(std::move(other.handler_)), counts_(std::exchange(other.counts_, false)) {}
    working_handler& operator=(working_handler&&) = delete;
    ~working_handler() { end_work(); }

    [[nodiscard]] const Handler& get() const noexcept { return handler_; }

    /// Moves this object and `args` into a function that calls the handler, and passes the function to
    /// dispatch() of the associated executor. Does not access this object or the executor's context
    /// afterwards.
    template <class Allocator, class... Args>
    void dispatch(const Allocator& allocator, Args&&... args) {
        const associated_executor_t<Handler> where = ekiden::get_associated_executor(handler_);
        if constexpr (sizeof...(Args) == 0) {
            detail::expect_callable_without_arguments<Handler>(); // dispatch() sees only the type of this
                                                                  // object
            where.dispatch(std::move(*this), allocator);
        } else {
            where.dispatch(detail::bound(std::move(*this), std::forward<Args>(args)...), allocator);
        }
    }
    template <class... Args>
    void operator()(Args&&... args) {
        end_work();
        std::invoke(handler_, std::forward<Args>(args)...);
    }

private:
    void end_work() noexcept {
        if (std::exchange(counts_, false)) ekiden::get_associated_executor(handler_).on_work_finished();
    }

    Handler handler_;
    bool counts_;
};

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
                working_handler<handler_type> kept(std::forward<Handler>(handler), first.context());
                auto hop = [kept = std::move(kept)]() mutable {
                    kept.dispatch(ekiden::get_associated_allocator(kept.get()));
                };
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
