/// Waits for a sender.
///
/// Part: adapter. Used by: programs that use senders, and sync_wait() of the implementation of senders. The
/// header scheduler.hpp includes this header.
#pragma once

#include <ekiden/adapter/std_execution/scheduler.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/pool/default_pool.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Returns the error of a sender as an exception. An error code becomes a std::system_error.
template <class Error>
[[nodiscard]] std::exception_ptr exception_of_error(Error&& error) noexcept {
    if constexpr (std::same_as<std::decay_t<Error>, std::exception_ptr>)
        return std::forward<Error>(error);
    else if constexpr (std::same_as<std::decay_t<Error>, std::error_code>)
        return std::make_exception_ptr(std::system_error(error));
    else
        return std::make_exception_ptr(std::forward<Error>(error));
}

/// The state of a call of sync_wait().
template <class Values>
struct sync_wait_state {
    std::optional<Values> values;
    std::exception_ptr error;
    promise<void> done;
    thread_pool* pool;

    /// The caller of sync_wait() may destroy the state before the call returns.
    void finish() noexcept {
        promise<void> own(std::move(done));
        own.set_value();
    }
};

/// The environment of a call of sync_wait(). Its scheduler belongs to the pool of the calling worker. Outside
/// of pools, the first query makes the default pool.
struct sync_wait_env {
    using scheduler_type = executor_scheduler<thread_pool::executor_type>;
    [[nodiscard]] scheduler_type scheduler() const noexcept {
        return as_scheduler(pool != nullptr ? *pool : default_pool());
    }
    [[nodiscard]] scheduler_type query(senders::get_scheduler_t) const noexcept { return scheduler(); }
    [[nodiscard]] scheduler_type query(senders::get_start_scheduler_t) const noexcept { return scheduler(); }
    [[nodiscard]] scheduler_type query(senders::get_delegation_scheduler_t) const noexcept {
        return scheduler();
    }
    thread_pool* pool = nullptr; // null outside of pools
};

template <class Values>
struct sync_wait_receiver {
    using receiver_concept = senders::receiver_tag;

    template <class... Results>
    void set_value(Results&&... results) && noexcept {
        try {
            state->values.emplace(std::forward<Results>(results)...);
        } catch (...) {
            state->error = std::current_exception();
        }
        state->finish();
    }
    template <class Error>
    void set_error(Error&& error) && noexcept {
        state->error = detail::exception_of_error(std::forward<Error>(error));
        state->finish();
    }
    void set_stopped() && noexcept { state->finish(); }

    [[nodiscard]] sync_wait_env get_env() const noexcept { return {state->pool}; }

    sync_wait_state<Values>* state;
};

template <class... Values>
using decayed_tuple = std::tuple<std::decay_t<Values>...>;

} // namespace detail

/// Starts `sender` and waits for its completion. Returns the values in a
/// std::optional<std::tuple<Values...>>, which is empty if the sender has completed with set_stopped().
/// Throws the error of the sender, or whatever connect() throws. The sender must have exactly one completion
/// with values.
///
/// Waits like future::get(), so a worker of a pool runs other tasks during the wait. In the environment of
/// the receiver, the scheduler is the scheduler of this worker's pool. In other threads, it is the scheduler
/// of the default pool, which the first query of the scheduler makes.
template <class Sender>
    requires requires { typename std::remove_cvref_t<Sender>::sender_concept; }
auto sync_wait(Sender&& sender) {
    using values =
        senders::value_types_of_t<Sender, detail::sync_wait_env, detail::decayed_tuple, std::type_identity_t>;
    detail::sync_wait_state<values> state{{}, {}, {}, detail::pool_of_this_thread()};
    future<void> done = state.done.get_future();
    auto operation =
        senders::connect(std::forward<Sender>(sender), detail::sync_wait_receiver<values>{&state});
    senders::start(operation);
    done.get();
    if (state.error) std::rethrow_exception(std::move(state.error));
    return std::move(state.values);
}

} // namespace ekiden::inline EKIDEN_ABI
