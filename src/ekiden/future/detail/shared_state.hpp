/// The shared state of a future, which is a completion together with its result. Two classes are derived from
/// shared_state: the state of a promise, and a task with a future.
///
/// Part: future. Used by: future, shared_future, promise, pool.
#pragma once

#include <ekiden/context/flat_call.hpp>
#include <ekiden/future/detail/completion.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Throws operation_canceled.
[[noreturn]] void throw_operation_canceled();
/// Throws std::system_error(operation_not_permitted).
[[noreturn]] void throw_left_behind();
/// Returns the exception that throw_left_behind() throws.
[[nodiscard]] std::exception_ptr left_behind_error() noexcept;
[[noreturn]] void throw_broken_promise();

struct no_value {};

/// Stores a result of type R, or the reason why there is no result.
template <class R>
class shared_state : public completion {
public:
    static_assert(std::is_void_v<R> || std::is_reference_v<R> || (std::is_object_v<R> && !std::is_array_v<R>),
                  "ekiden: the result of a future is void, a reference, or an object type that is no array");

    using stored = std::conditional_t<
        std::is_void_v<R>, no_value,
        std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, std::remove_cv_t<R>>>;

    /// Cancels the task if it is queued, and destroys its callable. Returns whether this call has canceled
    /// the task. Any thread may call this function.
    bool cancel() noexcept {
        // cancel() needs a reference of its own. The destructor of the callable may destroy the future, while
        // a worker drops the queued task.
        if (!is_cancelable_ || !retain_unless_ended()) return false;
        const bool won = claim();
        if (won) type()(this, task_request::cancel);
        release();
        return won;
    }

    /// Moves the result out, or throws the exception. The result must be set. Must be called at most once.
    R take() {
        if (outcome_ == outcome::exception) std::rethrow_exception(std::exchange(error_, nullptr));
        throw_if_none();
        if constexpr (std::is_reference_v<R>)
            return static_cast<R>(*value_);
        else if constexpr (!std::is_void_v<R>)
            return std::move(value_);
    }

    /// The type of the result of shared_future::get().
    using view = std::conditional_t<std::is_void_v<R>, void, std::add_lvalue_reference_t<const R>>;

    /// Returns a reference to the result, or throws the exception. The result must be set. Any thread may
    /// call look() any number of times, if no thread calls take().
    view look() const {
        throw_if_none();
        if constexpr (std::is_reference_v<R>)
            return *value_;
        else if constexpr (!std::is_void_v<R>)
            return value_;
    }

    /// Calls `f` and stores its return value as the result. Called by the producer, before complete(). If `f`
    /// throws, this function throws the same exception, and no result is set.
    template <class F>
    void emplace_from(F&& f) {
        if constexpr (std::is_void_v<R>) {
            std::forward<F>(f)();
            ::new (static_cast<void*>(std::addressof(value_))) stored{};
        } else if constexpr (std::is_reference_v<R>) {
            ::new (static_cast<void*>(std::addressof(value_))) stored(std::addressof(std::forward<F>(f)()));
        } else {
            ::new (static_cast<void*>(std::addressof(value_))) stored(std::forward<F>(f)());
        }
        outcome_ = outcome::value;
    }

    /// Sets the result like emplace_from(). If `f` throws, the exception becomes the result.
    template <class F>
    void set_from(F&& f) noexcept {
        try {
            emplace_from(std::forward<F>(f));
        } catch (...) {
            set_exception(std::current_exception());
        }
    }

    /// The next three functions set a result that is not a value. The producer calls one of them before
    /// complete().
    void set_exception(std::exception_ptr error) noexcept {
        ::new (static_cast<void*>(&error_)) std::exception_ptr(std::move(error));
        outcome_ = outcome::exception;
    }
    void set_canceled() noexcept { outcome_ = outcome::canceled; }
    void set_broken_promise() noexcept { outcome_ = outcome::broken_promise; }

protected:
    shared_state(function answer, std::uint32_t references, bool is_cancelable) noexcept
        : completion(answer, references, is_cancelable ? sys::fork_generation() : anywhere),
          is_cancelable_(is_cancelable) {}
    ~shared_state() {
        if (outcome_ == outcome::value)
            value_.~stored();
        else if (outcome_ == outcome::exception)
            error_.~exception_ptr();
    }

private:
    void throw_if_none() const {
        switch (outcome_) {
        case outcome::value:
            return;
        case outcome::exception:
            std::rethrow_exception(error_);
        case outcome::canceled:
            throw_operation_canceled();
        case outcome::none:
        case outcome::broken_promise:
            throw_broken_promise();
        }
    }

    const bool is_cancelable_;
    union {
        stored value_;
        std::exception_ptr error_;
    };
};

/// The state of a promise.
template <class R>
class promise_state final : public shared_state<R> {
public:
    promise_state() noexcept : shared_state<R>(&answer, 1, false) {}

private:
    static const char* answer(task* base, task_request request) {
        if (request == task_request::describe) return "a promise";
        if (request == task_request::dispose) recycler::destroy(static_cast<promise_state*>(base));
        return nullptr;
    }
};

/// A queued call of a callable of type `F`, with a future. The queue holds one reference, and the future
/// holds another.
template <class R, class F>
class task_state : public shared_state<R> {
public:
    template <class G>
    explicit task_state(G&& f) : shared_state<R>(&answer<task_state>, 2, true), f_(std::forward<G>(f)) {}
    ~task_state() {} // the producer has destroyed f_

protected:
    template <class Derived, class G>
    task_state(std::type_identity<Derived>, G&& f)
        : shared_state<R>(&answer<Derived>, 2, true), f_(std::forward<G>(f)) {}
    /// Sets `error` as the result of a task that is not queued. Releases the reference that the queue would
    /// hold.
    void end_with(std::exception_ptr error) noexcept {
        if (!this->claim()) return this->release();
        f_.~F();
        this->set_exception(std::move(error));
        this->complete(1);
    }
    template <class Derived>
    static const char* answer(task* base, task_request request) {
        if (request == task_request::describe) return type_description<F>();
        auto* const self = static_cast<Derived*>(base);
        switch (request) {
        case task_request::run:
            if (!self->claim()) return self->release(), nullptr; // the task was canceled
            if constexpr (requires { self->stop_requested(); }) {
                if (self->stop_requested()) { // the stop callback has not run yet
                    end_canceled(self, 1);
                    break;
                }
            }
            self->set_from([self]() -> R { return std::move(self->f_)(); });
            self->f_.~F(); // the callable is destroyed before the result is announced
            self->complete(1);
            break;
        case task_request::abandon:
            if constexpr (requires { self->is_taken_back(); }) {
                if (self->is_taken_back()) break;
            }
            if (!self->claim()) return self->release(), nullptr;
            end_canceled(self, 1);
            break;
        case task_request::cancel:
            end_canceled(self, 0);
            break;
        case task_request::dispose:
            if constexpr (requires { Derived::dispose(self); })
                Derived::dispose(self);
            else
                recycler::destroy(self);
            break;
        case task_request::describe:
            break;
        }
        return nullptr;
    }

private:
    template <class Derived>
    static void end_canceled(Derived* self, std::uint32_t references) noexcept {
        {
            const flat_calls_hidden callable_is_destroyed;
            self->f_.~F();
        }
        self->set_canceled();
        self->complete(references);
    }

    union {
        F f_;
    };
};

/// A task_state that a stop request cancels while the task is queued.
template <class R, class F>
class stoppable_task_state final : public task_state<R, F> {
public:
    template <class G>
    explicit stoppable_task_state(G&& f)
        : task_state<R, F>(std::type_identity<stoppable_task_state>{}, std::forward<G>(f)) {}

    /// Registers the task with `token`. Called before the task is queued. Cancels the task at once if a stop
    /// has been requested.
    void cancel_on(std::stop_token token) {
        token_ = token;
        on_stop_.emplace(std::move(token), canceller{this});
    }
    [[nodiscard]] bool stop_requested() const noexcept { return token_.stop_requested(); }

private:
    friend class task_state<R, F>;

    struct canceller {
        stoppable_task_state* self;
        void operator()() const noexcept { self->cancel(); }
    };

    std::stop_token token_;
    std::optional<std::stop_callback<canceller>> on_stop_; // the destructor waits for a running cancel()
};

} // namespace ekiden::inline EKIDEN_ABI
