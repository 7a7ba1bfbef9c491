/// How post, dispatch and defer bring a handler to its executors. Private to them.
///
/// Part: execution. Used by: post.hpp, dispatch.hpp, defer.hpp.
#pragma once

#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/inline_executor.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

struct by_post {
    template <class E, class F, class A>
    static void give(const E& e, F&& f, const A& allocator) {
        e.post(std::forward<F>(f), allocator);
    }
};
struct by_dispatch {
    template <class E, class F, class A>
    static void give(const E& e, F&& f, const A& allocator) {
        e.dispatch(std::forward<F>(f), allocator);
    }
};
struct by_defer {
    template <class E, class F, class A>
    static void give(const E& e, F&& f, const A& allocator) {
        e.defer(std::forward<F>(f), allocator);
    }
};

/// Run by one executor, it dispatches the handler to the executor that this is associated with, whose context
/// has work until then. The executor of a binder is used where it lies, and only what is bound goes on.
template <class Handler>
class work_dispatcher {
    using executor_type = associated_executor_t<Handler>;

public:
    /// `runner` is the executor that will run this: if its context is the handler's, the handler keeps it
    /// from ending anyway.
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
        } else { // the handler takes the executor along
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

/// Whether handlers of the type have an executor of their own, however they say so.
template <class Handler>
inline constexpr bool has_own_executor =
    !std::same_as<associated_executor_t<Handler, inline_executor>, inline_executor>
    || !std::same_as<associated_executor_t<Handler>, system_executor>;

template <class By>
struct initiate_by {
    /// To the handler's own executor.
    template <class Handler>
    void operator()(Handler&& handler) const {
        const auto allocator = ekiden::get_associated_allocator(handler);
        const associated_executor_t<std::decay_t<Handler>> where = ekiden::get_associated_executor(handler);
        By::give(where, std::forward<Handler>(handler), allocator);
    }

    /// To `first`, and from there to its own.
    template <class Handler, executor Executor>
    void operator()(Handler&& handler, const Executor& first) const {
        using handler_type = std::decay_t<Handler>;
        const auto allocator = ekiden::get_associated_allocator(handler);
        if constexpr (has_own_executor<handler_type>) {
            if (!is_for(ekiden::get_associated_executor(handler), first)) {
                work_dispatcher<handler_type> hop(std::forward<Handler>(handler), first.context());
                return By::give(first, std::move(hop), allocator);
            }
        }
        By::give(first, std::forward<Handler>(handler), allocator);
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
