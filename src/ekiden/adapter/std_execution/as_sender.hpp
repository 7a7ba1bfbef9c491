/// Turns coroutines of this library into senders.
///
/// Part: adapter. Used by: programs that use senders and coroutines.
#pragma once

#include <ekiden/adapter/std_execution/scheduler.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/thread.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// The allocator of an environment, or nothing. A handler that derives from this class has the allocator.
template <class Env>
struct allocator_of_env {
    explicit allocator_of_env(const Env&) noexcept {}
};
template <class Env>
    requires requires(const Env& env) { senders_tokens::get_allocator(env); }
struct allocator_of_env<Env> {
    using allocator_type =
        std::remove_cvref_t<decltype(senders_tokens::get_allocator(std::declval<const Env&>()))>;

    explicit allocator_of_env(const Env& env) noexcept : allocator(senders_tokens::get_allocator(env)) {}
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator; }

    allocator_type allocator;
};

/// A call of start() of a coroutine_operation. An executor may drop the coroutine inside this call. Then
/// start() completes the operation, because co_spawn() may also throw. In all other cases, the coroutine
/// completes the operation, so start() must not access the operation any more. The object lies on the stack
/// of the thread that calls start(). The calls of one thread may be nested.
class start_call {
public:
    /// `known` is a member of the operation `of`.
    start_call(const void* of, const start_call*& known) noexcept
        : of_(of), outer_(std::exchange(innermost(), this)) {
        known = this;
    }
    ~start_call() { innermost() = outer_; }
    start_call(const start_call&) = delete;
    start_call& operator=(const start_call&) = delete;

    [[nodiscard]] bool has_dropped() const noexcept { return has_dropped_; }

    /// Returns whether the calling thread is inside the call `known` for the operation `of`. If so, records
    /// that the coroutine was dropped. `known` may have been destroyed. Both are compared, because another
    /// object may have the address of a destroyed one.
    [[nodiscard]] static bool drop(const void* of, const start_call* known) noexcept {
        for (start_call* each = innermost(); each != nullptr; each = each->outer_)
            if (each == known && each->of_ == of) return each->has_dropped_ = true;
        return false;
    }

private:
    struct of_thread {
        start_call* innermost;
    };
    /// Not inline, because start() may be called in a coroutine. See posting_scope.
    EKIDEN_NOINLINE static start_call*& innermost() noexcept { return sys::local<of_thread>().innermost; }

    const void* const of_;
    start_call* const outer_;
    bool has_dropped_ = false;
};

/// The operation of a coroutine_sender. The coroutine completes the operation when it ends, perhaps before
/// start() has returned.
template <class E, class F, class Receiver>
class coroutine_operation {
    using result = typename spawned_result<F>::type;
    using env_type = senders::env_of_t<Receiver>;
    static constexpr bool can_stop = env_can_stop<env_type>;

public:
    using operation_state_concept = senders::operation_state_tag;

    template <class G>
    coroutine_operation(const E& where, G&& f, Receiver&& receiver)
        : executor_(where), f_(std::forward<G>(f)), receiver_(std::move(receiver)) {}
    coroutine_operation(coroutine_operation&&) = delete;

    void start() & noexcept {
        start_call here(this, start_call_);
        std::exception_ptr error;
        try {
            spawn_options chosen;
            if constexpr (can_stop) {
                chosen.stop(source_.emplace().get_token());
                on_stop_.emplace(senders_tokens::get_stop_token(senders::get_env(receiver_)),
                                 request{&*source_});
            }
            ekiden::co_spawn(executor_, std::move(f_), ending(*this), std::move(chosen));
        } catch (...) {
            error = std::current_exception();
        }
        if (error == nullptr && !here.has_dropped()) return;
        error_ = std::move(error);
        complete();
    }

private:
    struct request {
        void operator()() noexcept { (void)source->request_stop(); }
        std::stop_source* source;
    };
    struct no_callback {};
    template <class Env>
    struct callback_of {
        using type = senders_tokens::stop_callback_for_t<senders_tokens::stop_token_of_t<Env>, request>;
    };
    struct no_callback_of {
        using type = no_callback;
    };

    /// The completion handler of the coroutine. A handler that is destroyed without a call means that the
    /// coroutine was dropped.
    class ending : public allocator_of_env<std::remove_cvref_t<env_type>> {
        using base = allocator_of_env<std::remove_cvref_t<env_type>>;

    public:
        explicit ending(coroutine_operation& of) noexcept : base(senders::get_env(of.receiver_)), of_(&of) {}
        ending(ending&& other) noexcept
            : base(static_cast<const base&>(other)), of_(std::exchange(other.of_, nullptr)) {}
        ending& operator=(ending&&) = delete;
        ~ending() {
            if (of_ != nullptr && !start_call::drop(of_, of_->start_call_)) of_->complete();
        }
        template <class... Result>
        void operator()(std::exception_ptr error, Result&&... result) noexcept {
            coroutine_operation& own = *std::exchange(of_, nullptr);
            own.error_ = std::move(error);
            if (own.error_ == nullptr) own.store(std::forward<Result>(result)...);
            own.complete();
        }

    private:
        coroutine_operation* of_;
    };

    template <class... Result>
    void store(Result&&... results) noexcept {
        try {
            values_.emplace(std::forward<Result>(results)...);
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    void complete() noexcept {
        on_stop_.reset(); // waits for a stop request that another thread makes
        if (error_ == nullptr && values_) return deliver();
        if (error_ == nullptr || was_stopped()) return senders::set_stopped(std::move(receiver_));
        senders::set_error(std::move(receiver_), std::move(error_));
    }
    [[nodiscard]] bool was_stopped() const noexcept {
        if (!source_ || !source_->stop_requested()) return false;
        try {
            std::rethrow_exception(error_);
        } catch (const std::system_error& error) {
            return error.code() == std::errc::operation_canceled;
        } catch (...) {
            return false;
        }
    }
    void deliver() noexcept {
        if constexpr (std::is_void_v<result>)
            senders::set_value(std::move(receiver_));
        else if constexpr (std::is_reference_v<result> || !std::is_default_constructible_v<result>)
            senders::set_value(std::move(receiver_), static_cast<result&&>(**values_));
        else
            senders::set_value(std::move(receiver_), std::move(*values_));
    }

    struct no_result {};
    template <class T>
    struct stored {
        using type = typename spawn_signature<T>::argument;
    };
    struct stored_nothing {
        using type = no_result;
    };

    E executor_;
    F f_;
    Receiver receiver_;
    const start_call* start_call_ = nullptr; // start() may have returned
    std::exception_ptr error_;
    std::optional<typename std::conditional_t<std::is_void_v<result>, stored_nothing, stored<result>>::type>
        values_;                                            // empty if the coroutine was dropped
    std::optional<std::stop_source> source_ = std::nullopt; // used only if the receiver can stop
    std::optional<typename std::conditional_t<can_stop, callback_of<env_type>, no_callback_of>::type>
        on_stop_ = std::nullopt;
};

} // namespace detail

/// A sender that runs a coroutine on an executor. See as_sender().
template <executor E, class F>
class coroutine_sender {
    using result = typename detail::spawned_result<F>::type;
    template <class... Values>
    using signatures =
        senders::completion_signatures<senders::set_value_t(Values...),
                                       senders::set_error_t(std::exception_ptr), senders::set_stopped_t()>;
    struct value {
        using type = signatures<result>;
    };
    struct nothing {
        using type = signatures<>;
    };

public:
    using sender_concept = senders::sender_tag;

    template <class G>
    coroutine_sender(const E& where, G&& f) : executor_(where), f_(std::forward<G>(f)) {}

    /// Returns the completions: the result, an exception, or a stop.
    template <class, class...>
    [[nodiscard]] static consteval auto get_completion_signatures() noexcept ->
        typename std::conditional_t<std::is_void_v<result>, nothing, value>::type {
        return {};
    }
    /// Returns an operation, whose start spawns the coroutine.
    template <class Receiver>
    [[nodiscard]] auto connect(Receiver receiver) && {
        return detail::coroutine_operation<E, F, Receiver>(executor_, std::move(f_), std::move(receiver));
    }

private:
    E executor_;
    F f_;
};

/// Returns a sender that runs a coroutine on `where`, like co_spawn(). `f` is a coroutine or another
/// awaitable, or a callable without parameters that returns one. The sender can be connected once, as an
/// rvalue.
///
/// The sender completes with set_value() with the result, on the executor of the coroutine. An exception
/// becomes set_error(std::exception_ptr). A stop request of the receiver stops the coroutine. If the
/// coroutine then ends with operation_canceled, or if an executor drops the coroutine, the sender completes
/// with set_stopped(). Then the thread that drops the coroutine completes the operation, possibly inside
/// start(). If co_spawn() throws, start() completes the operation with this exception. start() allocates the
/// frame of the coroutine's root, by the allocator of the receiver's environment (get_allocator) if there is
/// one. Any thread may free the frame.
template <executor E, class F>
[[nodiscard]] coroutine_sender<E, std::decay_t<F>> as_sender(const E& where, F&& f) {
    return coroutine_sender<E, std::decay_t<F>>(where, std::forward<F>(f));
}

} // namespace ekiden::inline EKIDEN_ABI
