/// The part of the sender/receiver model (C++26) that a scheduler needs, as small as it can be: names, the
/// concepts that check a scheduler, and a way to wait. Stands in for std::execution where no implementation
/// is installed.
#pragma once

#include <concepts>
#include <exception>
#include <future>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace minimal_senders {

struct sender_tag {};
struct receiver_tag {};
struct scheduler_tag {};
struct operation_state_tag {};

struct set_value_t {
    template <class R>
    void operator()(R&& r) const noexcept {
        static_assert(noexcept(std::forward<R>(r).set_value()));
        std::forward<R>(r).set_value();
    }
};
struct set_error_t {
    template <class R, class E>
    void operator()(R&& r, E&& e) const noexcept {
        static_assert(noexcept(std::forward<R>(r).set_error(std::forward<E>(e))));
        std::forward<R>(r).set_error(std::forward<E>(e));
    }
};
struct set_stopped_t {
    template <class R>
    void operator()(R&& r) const noexcept {
        static_assert(noexcept(std::forward<R>(r).set_stopped()));
        std::forward<R>(r).set_stopped();
    }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

template <class... Signatures>
struct completion_signatures {};

struct empty_env {};
struct get_env_t {
    template <class T>
    decltype(auto) operator()(const T& t) const noexcept {
        if constexpr (requires { t.get_env(); })
            return t.get_env();
        else
            return empty_env();
    }
};
inline constexpr get_env_t get_env{};
template <class T>
using env_of_t = std::decay_t<decltype(get_env(std::declval<const T&>()))>;

struct never_stop_token {
    static constexpr bool stop_possible() noexcept { return false; }
    static constexpr bool stop_requested() noexcept { return false; }
};
struct get_stop_token_t {
    template <class Env>
    auto operator()(const Env& env) const noexcept {
        if constexpr (requires { env.query(*this); })
            return env.query(*this);
        else
            return never_stop_token();
    }
};
inline constexpr get_stop_token_t get_stop_token{};
template <class Env>
using stop_token_of_t = decltype(get_stop_token(std::declval<const Env&>()));
/// The callback for never_stop_token.
struct no_callback {
    no_callback(never_stop_token, auto&&) noexcept {}
};
template <class Token, class F>
using stop_callback_for_t = no_callback;

struct get_allocator_t {
    template <class Env>
        requires requires(const Env& env, get_allocator_t query) { env.query(query); }
    auto operator()(const Env& env) const noexcept {
        return env.query(*this);
    }
};
inline constexpr get_allocator_t get_allocator{};
struct get_scheduler_t {};
struct get_start_scheduler_t {
    template <class Env>
        requires requires(const Env& env, get_start_scheduler_t query) { env.query(query); }
    auto operator()(const Env& env) const noexcept {
        return env.query(*this);
    }
};
inline constexpr get_start_scheduler_t get_start_scheduler{};
struct schedule_t {
    template <class S>
    auto operator()(const S& s) const noexcept {
        return s.schedule();
    }
};
inline constexpr schedule_t schedule{};
struct get_delegation_scheduler_t {};
template <class Tag = void>
struct get_completion_domain_t {};

enum class forward_progress_guarantee { concurrent, parallel, weakly_parallel };
struct get_forward_progress_guarantee_t {
    template <class S>
    auto operator()(const S& s) const noexcept {
        return s.query(*this);
    }
};
inline constexpr get_forward_progress_guarantee_t get_forward_progress_guarantee{};

template <class Tag>
struct get_completion_scheduler_t {
    template <class Env>
        requires requires(const Env& env, get_completion_scheduler_t q) { env.query(q); }
    auto operator()(const Env& env, const auto&...) const noexcept {
        return env.query(*this);
    }
};
template <class Tag>
inline constexpr get_completion_scheduler_t<Tag> get_completion_scheduler{};

template <class S>
concept sender = std::derived_from<typename std::remove_cvref_t<S>::sender_concept, sender_tag>
                 && std::move_constructible<std::remove_cvref_t<S>> && requires(const S& s) { get_env(s); };
template <class S, class Env>
concept sender_in = sender<S> && requires(S&& s, Env env) {
    std::forward<S>(s).get_completion_signatures(env);
    std::remove_cvref_t<S>::template get_completion_signatures<S, Env>();
};
template <class O>
concept operation_state = std::derived_from<typename O::operation_state_concept, operation_state_tag>
                          && std::is_object_v<O> && requires(O& o) {
                                 { o.start() } noexcept;
                             };
template <class S>
concept scheduler =
    std::derived_from<typename std::remove_cvref_t<S>::scheduler_concept, scheduler_tag>
    && std::equality_comparable<std::remove_cvref_t<S>> && std::copy_constructible<std::remove_cvref_t<S>>
    && std::is_nothrow_copy_constructible_v<std::remove_cvref_t<S>> && requires(S&& s) {
           { std::forward<S>(s).schedule() } -> sender;
           {
               get_completion_scheduler<set_value_t>(get_env(std::forward<S>(s).schedule()))
           } -> std::same_as<std::remove_cvref_t<S>>;
           { get_forward_progress_guarantee(s) } -> std::same_as<forward_progress_guarantee>;
       };

/// P3941: without a stop, the operations of the scheduler complete only with set_value().
template <class S>
concept infallible_scheduler =
    scheduler<S>
    && std::same_as<decltype(std::declval<S&>().schedule().get_completion_signatures(empty_env())),
                    completion_signatures<set_value_t()>>;

// The names of the algorithms that the domain of a scheduler handles.
template <class... Queries>
using env = empty_env;
template <class S>
using tag_of_t = typename std::remove_cvref_t<S>::tag;
struct sequenced_policy {};
struct parallel_policy {};
struct parallel_unsequenced_policy {};
inline constexpr sequenced_policy seq{};
struct bulk_chunked_t {
    template <class... Args>
    void operator()(Args&&...) const;
};
struct bulk_unchunked_t {};
inline constexpr bulk_chunked_t bulk_chunked{};
struct sync_wait_t {
    template <class S>
    auto apply_sender(S&&) const;
};
template <class S, class Env, template <class...> class Tuple, template <class...> class Variant>
using value_types_of_t = Variant<Tuple<>>;
struct connect_t {
    template <class S, class R>
    auto operator()(S&& s, R&& r) const {
        return std::forward<S>(s).connect(std::forward<R>(r));
    }
};
struct start_t {
    void operator()(auto& operation) const noexcept { operation.start(); }
};
inline constexpr connect_t connect{};
template <class S, class R>
using connect_result_t = decltype(connect(std::declval<S>(), std::declval<R>()));
inline constexpr start_t start{};

} // namespace minimal_senders
