/// The sender that the member function affine() of a schedule sender returns (P4151). It completes on the
/// scheduler on which it was started.
///
/// Part: adapter. Used by: adapter/std_execution/scheduler.hpp, for tasks of the implementation of senders.
#pragma once

#include <ekiden/adapter/std_execution/names.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// Whether a stop token of this type can ever report a stop request. If not, the token's `stop_possible()` is
/// a constant expression with the value false.
template <class Token>
inline constexpr bool can_ever_stop = true;
template <class Token>
    requires(std::bool_constant<!Token::stop_possible()>::value)
inline constexpr bool can_ever_stop<Token> = false;

template <class Env>
inline constexpr bool env_can_stop = can_ever_stop<senders_tokens::stop_token_of_t<Env>>;

/// The environment of the second step. It has the allocator of the receiver's environment. It never requests
/// a stop, so an infallible scheduler completes this step with set_value().
template <class Env>
struct hop_env {
    [[nodiscard]] auto query(senders_tokens::get_allocator_t) const noexcept
        requires requires(const Env& env) { senders_tokens::get_allocator(env); }
    {
        return senders_tokens::get_allocator(env);
    }
    Env env;
};

/// Starts a schedule sender, and then hops to the start scheduler of the receiver. The hop is left out if
/// the start scheduler is equal to the scheduler of the sender.
template <class Scheduler, class Receiver>
class affine_operation {
    using start_scheduler = std::remove_cvref_t<decltype(senders::get_start_scheduler(
        senders::get_env(std::declval<const Receiver&>())))>;

    struct first_receiver {
        using receiver_concept = senders::receiver_tag;
        void set_value() && noexcept { self->finish_first(outcome::value); }
        void set_stopped() && noexcept { self->finish_first(outcome::stopped); }
        void set_error(std::exception_ptr error) && noexcept {
            self->error_ = std::move(error);
            self->finish_first(outcome::error);
        }
        [[nodiscard]] auto get_env() const noexcept { return senders::get_env(self->receiver_); }
        affine_operation* self;
    };
    struct second_receiver {
        using receiver_concept = senders::receiver_tag;
        void set_value() && noexcept { self->deliver(); }
        [[nodiscard]] auto get_env() const noexcept {
            return hop_env<senders::env_of_t<Receiver>>{senders::get_env(self->receiver_)};
        }
        affine_operation* self;
    };
    enum class outcome : unsigned char { value, stopped, error };

    template <class Make>
    struct made {
        operator std::invoke_result_t<Make&>() { return make(); } // NOLINT: constructs an operation in place
        Make make;
    };
    template <class Make>
    made(Make) -> made<Make>;

    using first_sender = decltype(std::declval<const Scheduler&>().schedule());
    using second_sender = decltype(senders::schedule(std::declval<const start_scheduler&>()));
    static constexpr bool has_error = !Scheduler::is_infallible;

public:
    using operation_state_concept = senders::operation_state_tag;

    affine_operation(const Scheduler& on, Receiver&& receiver)
        : receiver_(std::move(receiver)), home_(senders::get_start_scheduler(senders::get_env(receiver_))),
          is_home_(is_equal(home_, on)), first_(senders::connect(on.schedule(), first_receiver{this})) {
        if (is_home_) return;
        second_.emplace(
            made{[this] { return senders::connect(senders::schedule(home_), second_receiver{this}); }});
    }
    affine_operation(affine_operation&&) = delete;

    void start() & noexcept { senders::start(first_); }

private:
    template <class Start>
    [[nodiscard]] static bool is_equal(const Start& start, const Scheduler& on) noexcept {
        if constexpr (requires { start == on; })
            return start == on;
        else
            return false;
    }
    void finish_first(outcome how) noexcept {
        how_ = how;
        if (is_home_) return deliver();
        senders::start(*second_);
    }
    void deliver() noexcept {
        if (how_ == outcome::value) return senders::set_value(std::move(receiver_));
        if constexpr (env_can_stop<senders::env_of_t<Receiver>>)
            if (how_ == outcome::stopped) return senders::set_stopped(std::move(receiver_));
        if constexpr (has_error) senders::set_error(std::move(receiver_), std::move(error_));
    }

    Receiver receiver_;
    start_scheduler home_;
    const bool is_home_;
    outcome how_ = outcome::value;
    std::exception_ptr error_;
    senders::connect_result_t<first_sender, first_receiver> first_;
    std::optional<senders::connect_result_t<second_sender, second_receiver>> second_;
};

template <class Scheduler>
class affine_sender {
public:
    using sender_concept = senders::sender_tag;

    explicit affine_sender(const Scheduler& on) noexcept : on_(on) {}

    template <class, class Env>
    [[nodiscard]] static consteval auto get_completion_signatures() noexcept {
        using sender = decltype(std::declval<const Scheduler&>().schedule());
        return sender::template get_completion_signatures<sender, Env>();
    }
    template <class Receiver>
    [[nodiscard]] auto connect(Receiver receiver) const {
        if constexpr (requires { senders::get_start_scheduler(senders::get_env(receiver)); })
            return affine_operation<Scheduler, Receiver>(on_, std::move(receiver));
        else
            return senders::connect(on_.schedule(), std::move(receiver));
    }

private:
    Scheduler on_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
