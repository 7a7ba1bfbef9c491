/// Lets an async_scope count and stop the operations of senders.
///
/// Part: adapter. Used by: programs that use senders and coroutines.
#pragma once

#include <ekiden/adapter/std_execution/names.hpp>
#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/sys/atomic.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// A stop token that reports the stop requests of a scope, and of another token.
template <class Outer>
class scope_stop_token {
    /// Calls `F` once, at the first stop request of the two.
    template <class F>
    class registration {
    public:
        template <class G>
        explicit registration(scope_stop_token token, G&& g)
            : f_(std::forward<G>(g)), node_(*this), outer_(std::move(token.outer_), call{this}) {
            if (!node_.arm(*token.scope_)) run();
        }
        registration(registration&&) = delete;

    private:
        struct call {
            void operator()() const noexcept { self->run(); }
            registration* self;
        };
        struct node final : stop_node {
            explicit node(registration& to) noexcept : stop_node(&on_stop), self(to) {}
            static void on_stop(stop_node& of) noexcept { static_cast<node&>(of).self.run(); }
            registration& self;
        };
        /// Relaxed is enough, because the flag publishes nothing.
        void run() noexcept {
            if (!has_run_.exchange(true, sys::relaxed)) f_();
        }

        F f_;
        sys::atomic<bool> has_run_{false};
        node node_;
        senders_tokens::stop_callback_for_t<Outer, call> outer_;
    };

public:
    template <class F>
    using callback_type = registration<F>;

    scope_stop_token(stop_state& scope, Outer outer) noexcept : scope_(&scope), outer_(std::move(outer)) {}

    [[nodiscard]] bool stop_requested() const noexcept {
        return scope_->stop_requested() || outer_.stop_requested();
    }
    [[nodiscard]] static constexpr bool stop_possible() noexcept { return true; }
    friend bool operator==(const scope_stop_token& a, const scope_stop_token& b) noexcept {
        return a.scope_ == b.scope_ && a.outer_ == b.outer_;
    }

private:
    stop_state* scope_;
    Outer outer_;
};

/// An environment with the stop token of a scope. Passes all other queries on.
template <class Env>
struct scope_env {
    [[nodiscard]] auto query(senders_tokens::get_stop_token_t) const noexcept {
        return scope_stop_token<senders_tokens::stop_token_of_t<Env>>(*scope,
                                                                      senders_tokens::get_stop_token(outer));
    }
    template <class Query, class... Args>
        requires(!std::same_as<Query, senders_tokens::get_stop_token_t>)
                && requires(const Env& env, Query query, Args&&... args) {
                       env.query(query, std::forward<Args>(args)...);
                   }
    [[nodiscard]] decltype(auto) query(Query asked, Args&&... args) const noexcept {
        return outer.query(asked, std::forward<Args>(args)...);
    }

    stop_state* scope;
    Env outer;
};

template <class Receiver>
class scope_receiver {
public:
    using receiver_concept = senders::receiver_tag;

    scope_receiver(stop_state& scope, Receiver&& to) : scope_(&scope), to_(std::move(to)) {}

    template <class... Values>
    void set_value(Values&&... values) && noexcept {
        senders::set_value(std::move(to_), std::forward<Values>(values)...);
    }
    template <class Error>
    void set_error(Error&& error) && noexcept {
        senders::set_error(std::move(to_), std::forward<Error>(error));
    }
    void set_stopped() && noexcept { senders::set_stopped(std::move(to_)); }
    [[nodiscard]] auto get_env() const noexcept {
        return scope_env<std::remove_cvref_t<senders::env_of_t<Receiver>>>{scope_, senders::get_env(to_)};
    }

private:
    stop_state* scope_;
    Receiver to_;
};

template <class Sender>
class scope_sender {
public:
    using sender_concept = senders::sender_tag;

    template <class S>
    scope_sender(stop_state& scope, S&& sender) : scope_(&scope), sender_(std::forward<S>(sender)) {}

    template <class Self, class Env>
    [[nodiscard]] static consteval auto get_completion_signatures() noexcept
        -> senders::completion_signatures_of_t<
            std::conditional_t<std::is_lvalue_reference_v<Self>, const Sender&, Sender>,
            scope_env<std::remove_cvref_t<Env>>> {
        return {};
    }
    [[nodiscard]] auto get_env() const noexcept { return senders::get_env(sender_); }

    template <class Receiver>
    [[nodiscard]] auto connect(Receiver receiver) && {
        return senders::connect(std::move(sender_), scope_receiver<Receiver>(*scope_, std::move(receiver)));
    }
    template <class Receiver>
        requires std::copy_constructible<Sender>
    [[nodiscard]] auto connect(Receiver receiver) const& {
        return senders::connect(sender_, scope_receiver<Receiver>(*scope_, std::move(receiver)));
    }

private:
    stop_state* scope_;
    Sender sender_;
};

} // namespace detail

/// The association of an operation with a scope. While the association exists, wait() of the scope waits. A
/// default-constructed or moved-from association, and an association with a closed scope, is empty.
///
/// Thread safety: only one thread at a time may use an association.
class scope_association {
public:
    scope_association() noexcept = default;
    scope_association(scope_association&& other) noexcept : scope_(std::exchange(other.scope_, nullptr)) {}
    scope_association& operator=(scope_association other) noexcept {
        std::swap(scope_, other.scope_);
        return *this;
    }
    ~scope_association() {
        if (scope_ != nullptr) scope_->end_guest();
    }

    /// Returns whether the association is not empty.
    [[nodiscard]] explicit operator bool() const noexcept { return scope_ != nullptr; }
    /// Returns a new association with the same scope. The result is empty if the scope is closed.
    [[nodiscard]] scope_association try_associate() const noexcept {
        return scope_ != nullptr ? scope_association(*scope_) : scope_association();
    }

private:
    friend class scope_token;
    explicit scope_association(detail::scope_state& scope) noexcept
        : scope_(scope.admit() ? &scope : nullptr) {}

    detail::scope_state* scope_ = nullptr;
};

/// A token of an async_scope, for the functions of the sender/receiver model that need one: spawn(),
/// spawn_future() and associate() (P3149). The scope must outlive the token. See get_scope_token().
class scope_token {
public:
    /// Counts one more operation of the scope. The result is empty if the scope is closed.
    [[nodiscard]] scope_association try_associate() const noexcept { return scope_association(*scope_); }
    /// Returns a sender with the same results as `sender`. A stop request of the scope is also a stop request
    /// for the operation of the sender.
    template <class Sender>
    [[nodiscard]] auto wrap(Sender&& sender) const {
        return detail::scope_sender<std::remove_cvref_t<Sender>>(scope_->stop(),
                                                                 std::forward<Sender>(sender));
    }

private:
    friend scope_token get_scope_token(async_scope& scope) noexcept;
    explicit scope_token(detail::scope_state& scope) noexcept : scope_(&scope) {}

    detail::scope_state* scope_;
};

/// Returns a token with which senders join the scope. Each operation counts as a child: wait() of the scope
/// waits for it, and request_stop() stops it. The result and the error of such an operation do not change
/// the scope.
[[nodiscard]] inline scope_token get_scope_token(async_scope& scope) noexcept {
    return scope_token(detail::scope_access::state(scope));
}

} // namespace ekiden::inline EKIDEN_ABI
