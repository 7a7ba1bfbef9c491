/// Lets coroutines of this library await senders.
///
/// Part: adapter. Used by: programs that use senders and coroutines. A program must include this header
/// before its first `co_await` of a sender.
#pragma once

#include <ekiden/adapter/std_execution/scheduler.hpp>
#include <ekiden/async/detail/await_in_place.hpp>
#include <ekiden/async/detail/frame.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A query of the environment of an awaited sender. Returns the deadline of the awaiting coroutine on the
/// steady clock, or max() if there is no deadline. At the deadline, a stop is requested.
struct get_deadline_t {
    template <class Env>
        requires requires(const Env& env, get_deadline_t query) { env.query(query); }
    [[nodiscard]] sys::clock::time_point operator()(const Env& env) const noexcept {
        return env.query(*this);
    }
    [[nodiscard]] static constexpr bool query(senders::forwarding_query_t) noexcept { return true; }
};
inline constexpr get_deadline_t get_deadline{}; ///< the query of the deadline

namespace detail {

/// The environment of an awaited sender.
struct await_env {
    [[nodiscard]] executor_scheduler<any_executor> query(senders::get_scheduler_t) const noexcept {
        return as_scheduler(*home);
    }
    [[nodiscard]] executor_scheduler<any_executor> query(senders::get_start_scheduler_t) const noexcept {
        return as_scheduler(*home);
    }
    [[nodiscard]] auto query(senders_tokens::get_stop_token_t) const noexcept { return token; }
    [[nodiscard]] sys::clock::time_point query(get_deadline_t) const noexcept { return deadline; }

    const any_executor* home;
    senders_tokens::inplace_stop_token token;
    sys::clock::time_point deadline;
};

/// The part of an awaited sender that does not depend on its type. The awaiter and the operation own this
/// object together, because the awaiter may be destroyed before the operation completes. The last owner
/// destroys the object.
class sender_wait : public pooled_frame {
public:
    sender_wait(const sender_wait&) = delete;
    sender_wait& operator=(const sender_wait&) = delete;

    [[nodiscard]] await_env env() const noexcept { return {&home_, source_.get_token(), deadline_}; }
    [[nodiscard]] bool stop_requested() const noexcept { return source_.stop_requested(); }

    /// Called by the awaiter before the start of the operation. The operation becomes an owner. A stop
    /// request may call functions of the operation from here on.
    void begin() noexcept {
        owners_.store(2, sys::relaxed); // Relaxed is enough: no other thread refers to this object yet.
        stop_state* const stop = way_home_.env().stop;
        if (stop != nullptr && !stop_.arm(*stop)) source_.request_stop();
    }
    /// Called by the awaiter after the start. Returns false if the operation has already completed. Then the
    /// coroutine continues at once. Otherwise the awaiter may already be destroyed.
    [[nodiscard]] bool begin_waiting() noexcept {
        std::uint8_t seen = starting;
        // [SD1] Release: publishes the registration with the stop state. Acquire: if the operation has
        // completed, this thread may read the result. Pairs with the exchange in finish().
        return word_.compare_exchange_strong(seen, waiting, sys::release, sys::acquire);
    }
    /// Called once, when the operation has completed. The result has been stored.
    void finish() noexcept {
        // [SD1] Release: publishes the result. Acquire: this thread sees the registration of the awaiter.
        // Pairs with the compare-exchange in begin_waiting().
        if (word_.exchange(completed, sys::acq_rel) == waiting) way_home_.resume();
        drop();
    }
    /// Called by the awaiter when the coroutine resumes. Waits for a stop request that another thread makes.
    void disarm() noexcept { (void)stop_.disarm(); }
    /// Called by the destructor of the awaiter. If the operation has not completed, requests a stop.
    void leave() noexcept {
        disarm();
        // [SD1] Relaxed is enough, because the result is not read.
        if (word_.load(sys::relaxed) != completed && word_.exchange(left, sys::relaxed) == waiting)
            source_.request_stop();
        drop();
    }

protected:
    template <class Promise>
    sender_wait(std::coroutine_handle<Promise> suspended, void (*end)(sender_wait&) noexcept)
        : stop_(source_), end_(end) {
        way_home_.bind(suspended);
        home_ = way_home_.env().executor;
        deadline_ = way_home_.env().deadline;
    }
    ~sender_wait() = default;

    std::exception_ptr error_;

private:
    enum : std::uint8_t {
        starting,  // The awaiter starts the operation.
        waiting,   // The coroutine is suspended. Set by begin_waiting().
        completed, // The result is stored. Set by finish().
        left       // The awaiter is destroyed, so no result is needed. Set by leave().
    };
    struct registration final : stop_node {
        explicit registration(senders_tokens::inplace_stop_source& s) noexcept
            : stop_node(&on_stop), source(s) {}
        static void on_stop(stop_node& self) noexcept {
            static_cast<registration&>(self).source.request_stop();
        }
        senders_tokens::inplace_stop_source& source;
    };

    void drop() noexcept {
        // [SD2] acq_rel: makes the accesses of both owners happen before the destruction.
        if (owners_.fetch_sub(1, sys::acq_rel) == 1) end_(*this);
    }

    sys::atomic<std::uint32_t> owners_{1};
    sys::atomic<std::uint8_t> word_{starting};
    suspension way_home_;
    any_executor home_;
    sys::clock::time_point deadline_;
    senders_tokens::inplace_stop_source source_;
    registration stop_;
    void (*const end_)(sender_wait&) noexcept;
};

template <class Values>
class sender_results : public sender_wait {
public:
    /// Returns the values. Throws the error, or operation_canceled if the operation was stopped.
    [[nodiscard]] Values& results() {
        if (error_) std::rethrow_exception(error_);
        if (!values_) throw operation_canceled("co_await of a sender");
        return *values_;
    }

protected:
    using sender_wait::sender_wait;

    std::optional<Values> values_;

private:
    template <class>
    friend class sender_receiver;
};

template <class Values>
class sender_receiver {
public:
    using receiver_concept = senders::receiver_tag;

    explicit sender_receiver(sender_results<Values>& to) noexcept : to_(&to) {}

    template <class... Results>
    void set_value(Results&&... results) && noexcept {
        try {
            to_->values_.emplace(std::forward<Results>(results)...);
        } catch (...) {
            to_->error_ = std::current_exception();
        }
        to_->finish();
    }
    template <class Error>
    void set_error(Error&& error) && noexcept {
        to_->error_ = detail::exception_of_error(std::forward<Error>(error));
        to_->finish();
    }
    void set_stopped() && noexcept { to_->finish(); }
    [[nodiscard]] await_env get_env() const noexcept { return to_->env(); }

private:
    sender_results<Values>* to_;
};

template <class Sender>
using awaited_values = senders::value_types_of_t<Sender, await_env, decayed_tuple, std::type_identity_t>;

/// A sender that has been connected.
template <class Sender>
class connected_sender final : public sender_results<awaited_values<Sender>> {
    using values = awaited_values<Sender>;

public:
    template <class Promise>
    connected_sender(Sender&& sender, std::coroutine_handle<Promise> suspended)
        : sender_results<values>(suspended, &end),
          operation_(senders::connect(std::forward<Sender>(sender), sender_receiver<values>(*this))) {}

    void start() noexcept { senders::start(operation_); }

private:
    static void end(sender_wait& self) noexcept { delete static_cast<connected_sender*>(&self); }

    senders::connect_result_t<Sender, sender_receiver<values>> operation_;
};

/// The awaiter of a sender. co_await connects and starts the sender.
template <class Sender>
class [[nodiscard]] sender_awaiter {
public:
    static constexpr bool comes_home = true;

    explicit sender_awaiter(Sender&& sender) : sender_(std::forward<Sender>(sender)) {}
    sender_awaiter(const sender_awaiter&) = delete;
    sender_awaiter& operator=(const sender_awaiter&) = delete;
    ~sender_awaiter() {
        if (state_ != nullptr) state_->leave();
    }

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    /// Throws std::bad_alloc, and whatever connect() throws.
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> waiting) {
        auto& state = *new connected_sender<Sender>(std::forward<Sender>(sender_), waiting);
        state_ = &state;
        state.begin();
        state.start();
        return state.begin_waiting();
    }
    auto await_resume() {
        state_->disarm();
        auto& results = state_->results();
        constexpr std::size_t count = std::tuple_size_v<std::remove_cvref_t<decltype(results)>>;
        if constexpr (count == 1)
            return std::get<0>(std::move(results));
        else if constexpr (count > 1)
            return std::move(results);
    }

private:
    Sender sender_;
    connected_sender<Sender>* state_ = nullptr;
};

/// co_await of a sender in a coroutine of this library.
template <class Sender>
    requires requires { typename std::remove_cvref_t<Sender>::sender_concept; }
struct await_adapter<Sender> {
    static sender_awaiter<Sender> of(Sender&& sender) {
        return sender_awaiter<Sender>(std::forward<Sender>(sender));
    }
};

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
