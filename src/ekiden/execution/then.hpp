/// Defines future::then(), which calls a function when a result is ready. No thread waits for the result.
///
/// Part: execution. Used by: programs. Modeled on std::experimental::future (N4538), with two differences.
/// The first argument of then() is an executor. The function may accept the result instead of the future.
#pragma once

#include <ekiden/context/flat_call.hpp>
#include <ekiden/execution/detail/continuations.hpp>
#include <ekiden/execution/detail/task_offer.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/future/future.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

template <class F, class R>
inline constexpr bool takes_result = std::invocable<F, R>;
template <class F>
inline constexpr bool takes_result<F, void> = std::invocable<F>;

template <class F, class R>
auto continue_from(F& f, shared_state<R>* from) -> decltype(auto) {
    auto ready = future_access::make<future<R>>(from); // `ready` takes over the reference
    if constexpr (!takes_result<F, R>) {
        return std::invoke(std::move(f), std::move(ready));
    } else if constexpr (std::is_void_v<R>) {
        ready.get();
        return std::invoke(std::move(f));
    } else {
        return std::invoke(std::move(f), ready.get());
    }
}

/// The function call that a then_state queues.
template <class R, class F>
struct continued_call {
    shared_state<R>** from; // the call takes over this reference
    F f;

    decltype(auto) operator()() && { return detail::continue_from<F, R>(f, std::exchange(*from, nullptr)); }
};

/// The state of the result of a continuation. At first, the state is attached to `from` and waits for the
/// result of `from`. Then the state is queued as a task. One reference to the state belongs to the wait, and
/// later to the queue. A second reference to the state belongs to the future. While the state waits, it is in
/// a list of the context of the executor. If the context ends before the result is set, the context cancels
/// the state.
///
/// If one continuation of a chain is refused, all later continuations of the chain are refused. So flat_call
/// queues and destroys the continuations in a loop, without recursion.
template <class U, class R, class F, class Executor>
class then_state final : public task_state<U, continued_call<R, F>>,
                         private flat_call,
                         private listed_continuation {
    using base = task_state<U, continued_call<R, F>>;

public:
    /// Takes over a reference to `from`, unless the constructor throws.
    template <class G>
    then_state(shared_state<R>* from, const Executor& where, G&& f)
        : base(std::type_identity<then_state>{}, continued_call<R, F>{&from_, std::forward<G>(f)}),
          listed_continuation(&attach, &cancel), from_(from), where_(where), on_ready_(&ready, this) {}
    ~then_state() {
        if (from_ != nullptr) from_->release();
    }

    /// Attaches the state to `from`. `listed` belongs to the context of the executor. Call start() once. If
    /// the future has given up its reference, the state may have been destroyed when start() returns.
    void start(continuations& listed) noexcept {
        listed_ = &listed;
        if (from_->is_left_behind()) [[unlikely]]
            return this->end_with(left_behind_error());
        where_.on_work_started();
        switch (listed.add(*this)) {
        case continuations::state::waits:
            break;
        case continuations::state::ready:
            queue(this);
            break;
        case continuations::state::refused:
            drop();
        }
    }

private:
    friend class task_state<U, continued_call<R, F>>;

    static void ready(void* self) noexcept { flatly(static_cast<then_state*>(self), &queue); }
    static void dispose(then_state* self) noexcept {
        flatly(self, [](flat_call* called) noexcept {
            auto* const ended = static_cast<then_state*>(called);
            shared_state<R>* const from = std::exchange(ended->from_, nullptr);
            {
                const flat_calls_hidden result_is_destroyed;
                recycler::destroy(ended);
            }
            if (from != nullptr) from->release(); // may dispose of the state before this one in a chain
        });
    }
    static void flatly(then_state* self, void (*call_it)(flat_call*) noexcept) noexcept {
        self->call = call_it;
        ekiden::run_flat(*self);
    }

    static void queue(flat_call* called) noexcept {
        auto* const self = static_cast<then_state*>(called);
        if (!self->try_begin()) return self->release(); // releases the reference that cancel() has acquired
        const continuations::use context_in_use(*self->listed_, *self);
        bool is_refused = false;
        {
            const Executor where(std::move(self->where_)); // the queue may destroy the state
            const task_offer offer(*self);
            try {
                ekiden::accept_task(where, self, task_order::usual);
            } catch (...) { // the task is abandoned, so the future reports operation_canceled
            }
            is_refused = offer.came_back();
            where.on_work_finished();
        }
        if (is_refused) self->abandon(); // the callable may own the context, so nothing uses `where` now
    }
    /// If the executor refuses the task, queue() abandons it.
    [[nodiscard]] bool is_taken_back() const noexcept { return task_offer::take_back(*this); }

    static bool attach(listed_continuation& self) noexcept {
        auto& own = static_cast<then_state&>(self);
        return own.from_->attach(own.on_ready_);
    }
    /// Cancels the continuation, because the context ends before the result is set.
    static void cancel(listed_continuation& self) noexcept {
        auto& own = static_cast<then_state&>(self);
        own.retain();
        const bool is_called = !own.from_->detach(own.on_ready_); // if true, ready() releases the reference
        own.drop();
        if (!is_called) own.release();
    }
    /// Drops the callable, so the future reports operation_canceled.
    void drop() noexcept {
        {
            const Executor where(std::move(where_));
            // The work ends before the callable is destroyed, because the callable may own the context.
            where.on_work_finished();
        }
        this->abandon();
    }

    shared_state<R>* from_; // null after the call has taken over the reference
    Executor where_;
    continuations* listed_ = nullptr;
    completion::continuation on_ready_;
};

} // namespace detail

template <class R>
template <class Executor, class F>
auto future<R>::then(const Executor& where, F&& f) {
    using callable = std::decay_t<F>;
    static_assert(executor<Executor>,
                  "ekiden: then: the first argument is no executor; pool.get_executor() is");
    // The second condition is evaluated only if the first condition is false, because a generic function may
    // not compile with a future.
    static_assert(std::disjunction_v<std::bool_constant<detail::takes_result<callable, R>>,
                                     std::is_invocable<callable, future<R>>>,
                  "ekiden: then: the function takes the result of the future, or the future");
    using result = decltype(detail::continue_from<callable, R>(std::declval<callable&>(), nullptr));
    ekiden::refuse_empty<callable>(f, "then");
    auto& listed = ekiden::use_service<detail::continuations>(where.context());
    auto* const state = recycler::create<detail::then_state<result, R, callable, Executor>>(
        this->valid_state(), where, std::forward<F>(f));
    (void)this->leave_state(); // the new state has taken over the reference
    auto continued = detail::future_access::make<future<result>>(state);
    state->start(listed);
    return continued;
}

} // namespace ekiden::inline EKIDEN_ABI
