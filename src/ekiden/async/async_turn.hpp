/// Turns: requests of lanes that are coroutines, and keep their lanes while they await.
///
/// Part: async. Used by: programs.
#pragma once

#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/detail/lock_awaiter.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/detached.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/lanes/lane_turn.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/sync/detail/lock_access.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <concepts>
#include <coroutine>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// A class that is a friend of lanes and of lane_turn. Users of the library never need this class.
struct turn_access {
    template <class Lanes>
    [[nodiscard]] static lane_turn make(const Lanes& in, typename Lanes::key_list&& keys, const char* where) {
        return lane_turn(in.make_turn(keys, where));
    }
    [[nodiscard]] static turn_record& record(const lane_turn& of) noexcept { return *of.record_; }
};

/// Satisfied by a type that a list of keys accepts as one key.
template <class Which, class Lanes>
concept key_or_handle = std::convertible_to<const Which&, typename Lanes::key_type>
                        || std::same_as<Which, typename Lanes::lane_type>;

/// Throws std::system_error(resource_deadlock_would_occur) if the caller runs in the lanes of the turn. If
/// `from` is not null, also throws this exception if the coroutine has a turn in these lanes, or if its
/// executor belongs to one of these lanes.
void refuse_second_turn(const turn_record& wanted, const environment* from);

inline constexpr const char* turn_dropped = "async_turn: the lanes have refused or abandoned the request";

/// An operation that waits for a turn. `IsSpawned` is true for the turn of spawn_in_turn(). The request of
/// this turn is already in its lanes, and the thread that has called spawn_in_turn() runs the coroutine up to
/// this wait.
template <bool IsSpawned>
class turn_operation : public lock_operation {
public:
    static constexpr bool is_posted = IsSpawned;
    static constexpr bool is_pure = true;
    static constexpr const char* canceled = "async_turn: the wait was stopped";

    explicit turn_operation(lane_turn wanted) noexcept
        : lock_operation{lock_access::core(turn_access::record(wanted).decided()), event::is_one},
          turn_(std::move(wanted)) {}

    template <class Promise>
    void begin(std::coroutine_handle<Promise> coroutine) {
        turn_record& wanted = turn_access::record(turn_);
        if constexpr (std::derived_from<Promise, coroutine_promise>) {
            coroutine_promise& promise = coroutine.promise();
            if constexpr (!IsSpawned) refuse_second_turn(wanted, &promise.env());
            promise.mark_turn(wanted);
        } else {
            refuse_second_turn(wanted, nullptr);
        }
        if constexpr (!IsSpawned) wanted.enqueue(false);
    }
    [[nodiscard]] bool try_now() const noexcept { return lock.is_in(states); }
    static state_value change(state_value now) noexcept { return now; }
    static void give_back() noexcept {} // the destructor of the turn gives the lanes back
    [[nodiscard]] lane_turn granted() {
        if (!IsSpawned && turn_access::record(turn_).is_dropped()) throw operation_canceled(turn_dropped);
        return std::move(turn_);
    }

private:
    lane_turn turn_;
};

/// Awaits nothing. Drops the awaiting coroutine, as an executor does that refuses it.
class drop_awaiter {
public:
    static constexpr bool comes_home = true;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> dropped) noexcept {
        home_.bind(dropped);
        home_.give_up();
    }
    static void await_resume() noexcept {}

private:
    suspension home_;
};

/// Calls `f` during the turn. `f` is destroyed before the turn ends. If the lanes have dropped the request
/// and nothing waits for the result, the coroutine is dropped without a report, like a posted function.
template <class F, bool IsDetached>
coroutine<result_of_source<F>> run_in_turn(lane_turn wanted, std::optional<F> f) {
    const lane_turn held = co_await lock_awaiter<turn_operation<true>>(std::move(wanted));
    if (turn_access::record(held).is_dropped()) {
        if constexpr (IsDetached) co_await drop_awaiter();
        throw operation_canceled(turn_dropped);
    }
    struct at_end {
        std::optional<F>& f;
        ~at_end() { f.reset(); }
    } const ends_first{f};
    co_return co_await detail::source_of(*f);
}

template <class F, class Executor, class Token>
auto spawn_with(lane_turn turn, const Executor& where, F&& f, Token&& token, spawn_options&& chosen) {
    using callable = std::decay_t<F>;
    constexpr bool is_detached = std::same_as<std::decay_t<Token>, detached_t>;
    static_cast<void>(sizeof(typename spawned_result<callable>::type*)); // reports what cannot be spawned
    ekiden::refuse_empty<callable>(f, "spawn_in_turn");
    std::optional<callable> kept(std::in_place, std::forward<F>(f));
    turn_record& wanted = turn_access::record(turn);
    wanted.enqueue(true);
    // If the lanes have refused the request, the executor can refuse the coroutine at once.
    const bool starts_here = !wanted.is_dropped();
    return detail::spawn_by_token(
        where,
        [turn = std::move(turn), kept = std::move(kept)]() mutable {
            return detail::run_in_turn<callable, is_detached>(std::move(turn), std::move(kept));
        },
        std::forward<Token>(token), std::move(chosen), starts_here);
}

} // namespace detail

/// `const auto turn = co_await async_turn(bank, bank.keys().write(to).read(rates))`: waits until all earlier
/// requests that conflict with these keys have completed, and returns a lane_turn. There is no form with a
/// list of keys in braces, because g++ 12 does not compile such lists in awaited expressions. The turn is a
/// request like a posted function. While the turn lasts, the coroutine may await other operations, and no
/// request that conflicts with the turn runs. No thread waits meanwhile. The request is added to the lanes
/// when the turn is awaited, and a handle in the list must exist until then. If the lanes have a capacity and
/// the policy `block`, the request may exceed the capacity, because the coroutine waits in its lanes.
///
/// If a stop of the coroutine is requested before the turn begins, the request is withdrawn, and async_turn()
/// throws operation_canceled. Later requests do not wait for a withdrawn request. In lanes without a
/// capacity, depth() counts a withdrawn request until the earlier requests have run. After the turn has
/// begun, the environment of the coroutine tells the coroutine of a stop request, and the turn lasts until
/// the lane_turn is destroyed. If the coroutine is destroyed, the turn ends as well.
///
/// If the coroutine runs on a loop_context and the lanes run on a pool, the workers of the pool begin the
/// turns. So end the coroutines that have or await turns before the loop is destroyed, or first call stop()
/// and join() of the pool.
///
/// A turn is outstanding work of the inner context of the lanes, so join() of a pool waits for its end. If
/// the coroutine runs on another pool, and this pool stops, the coroutine and its turn end when this pool is
/// destroyed. So destroy this pool first.
///
/// Throws operation_canceled if the lanes refuse or abandon the request, because a lane is full or closed, or
/// because the inner context has stopped. Throws std::bad_alloc. Throws whatever lanes::post() throws.
/// Throws std::system_error(resource_deadlock_would_occur) in the following cases, because two coroutines
/// could wait for each other:
///   * The coroutine has a turn in the same lanes. A coroutine has the turns for which it has waited, and the
///     turns that a coroutine has when it awaits this coroutine.
///   * The coroutine runs on the executor of a lane of the same lanes, or is called by a function of them.
/// In the same way, resume_on() refuses the executor of a lane during a turn in the same lanes. The following
/// mistakes are not detected:
///   * During a turn, a coroutine must not await the result of another request of the same lanes, and must
///     not call wait_idle() for a key of the turn. Both may wait for the end of the turn.
///   * A coroutine that gets a turn from a coroutine that it has awaited must not wait for a second turn.
template <class Key, class Executor, class Hash>
[[nodiscard]] auto async_turn(const lanes<Key, Executor, Hash>& in,
                              typename lanes<Key, Executor, Hash>::key_list&& keys) {
    return detail::lock_awaiter<detail::turn_operation<false>>(
        detail::turn_access::make(in, std::move(keys), "async_turn"));
}
/// Waits like the function above. The turn writes one key, which may be given as a handle of its lane.
template <class Key, class Executor, class Hash, detail::key_or_handle<lanes<Key, Executor, Hash>> Which>
[[nodiscard]] auto async_turn(const lanes<Key, Executor, Hash>& in, const Which& key) {
    return ekiden::async_turn(in, in.keys().write(key));
}

/// `const std::optional<lane_turn> turn = co_await async_turn(bank, keys, limit)`: waits like
/// async_turn(bank, keys), but until `limit` at most. The result is empty if `limit` or a stop of the
/// coroutine has ended the wait. The request is then withdrawn.
template <class Key, class Executor, class Hash>
[[nodiscard]] auto async_turn(const lanes<Key, Executor, Hash>& in,
                              typename lanes<Key, Executor, Hash>::key_list&& keys, const wait_limit& limit) {
    return detail::limited_awaiter<detail::turn_operation<false>>(
        limit, detail::turn_access::make(in, std::move(keys), "async_turn"));
}
/// Waits like the function above. The turn writes one key.
template <class Key, class Executor, class Hash, detail::key_or_handle<lanes<Key, Executor, Hash>> Which>
[[nodiscard]] auto async_turn(const lanes<Key, Executor, Hash>& in, const Which& key,
                              const wait_limit& limit) {
    return ekiden::async_turn(in, in.keys().write(key), limit);
}
/// Waits like async_turn(in, keys, limit). The limit is the time of the call plus `duration`.
template <class Key, class Executor, class Hash>
[[nodiscard]] auto async_turn_for(const lanes<Key, Executor, Hash>& in,
                                  typename lanes<Key, Executor, Hash>::key_list&& keys,
                                  const wait_duration& duration) {
    return ekiden::async_turn(in, std::move(keys), duration);
}
template <class Key, class Executor, class Hash, detail::key_or_handle<lanes<Key, Executor, Hash>> Which>
[[nodiscard]] auto async_turn_for(const lanes<Key, Executor, Hash>& in, const Which& key,
                                  const wait_duration& duration) {
    return ekiden::async_turn(in, key, duration);
}
/// Waits like async_turn(in, keys, limit). The limit is the time point `time`, which is converted to the
/// steady clock when the wait begins.
template <class Key, class Executor, class Hash>
[[nodiscard]] auto async_turn_until(const lanes<Key, Executor, Hash>& in,
                                    typename lanes<Key, Executor, Hash>::key_list&& keys,
                                    const wait_deadline& time) {
    return ekiden::async_turn(in, std::move(keys), time);
}
template <class Key, class Executor, class Hash, detail::key_or_handle<lanes<Key, Executor, Hash>> Which>
[[nodiscard]] auto async_turn_until(const lanes<Key, Executor, Hash>& in, const Which& key,
                                    const wait_deadline& time) {
    return ekiden::async_turn(in, key, time);
}

/// Starts a coroutine as a request of the lanes, like co_spawn() on the inner executor of the lanes. The
/// request keeps its place in the lanes of all `keys` until the coroutine has ended, also while the coroutine
/// awaits. The request is added to the lanes in this call, like a posted function, so calls of
/// spawn_in_turn() and post() have one order. If the lanes have a capacity and the policy `block`, the call
/// waits for room. The coroutine begins when all earlier requests that conflict with it have completed.
///
/// `f`, the completion token and the options have the same meaning as in co_spawn(). A stop request before
/// the beginning withdraws the request, even if all threads of the inner context are busy. If the lanes
/// refuse or abandon the request, `f` is destroyed without a call, and the future or the completion handler
/// gets operation_canceled. With the token `detached`, no report is made, as for a posted function. The turn
/// ends before the future or the completion handler gets the result.
///
/// Throws like post() and co_spawn(). A call that throws has no effect. The rules of async_turn() for
/// deadlocks apply to the coroutine.
template <class Key, class Executor, class Hash, class F, class Token = detached_t>
auto spawn_in_turn(const lanes<Key, Executor, Hash>& in, typename lanes<Key, Executor, Hash>::key_list&& keys,
                   F&& f, Token&& token = Token(), spawn_options chosen = spawn_options()) {
    return detail::spawn_with(detail::turn_access::make(in, std::move(keys), "spawn_in_turn"),
                              in.get_inner_executor(), std::forward<F>(f), std::forward<Token>(token),
                              std::move(chosen));
}
/// Starts a coroutine like the function above. The coroutine writes all keys.
template <class Key, class Executor, class Hash, class F, class Token = detached_t>
auto spawn_in_turn(const lanes<Key, Executor, Hash>& in,
                   std::initializer_list<std::type_identity_t<Key>> written, F&& f, Token&& token = Token(),
                   spawn_options chosen = spawn_options()) {
    return ekiden::spawn_in_turn(in, in.keys().write_all({written.begin(), written.size()}),
                                 std::forward<F>(f), std::forward<Token>(token), std::move(chosen));
}
/// Starts a coroutine like the function above, with one key or the handle of a lane.
template <class Key, class Executor, class Hash, detail::key_or_handle<lanes<Key, Executor, Hash>> Which,
          class F, class Token = detached_t>
auto spawn_in_turn(const lanes<Key, Executor, Hash>& in, const Which& key, F&& f, Token&& token = Token(),
                   spawn_options chosen = spawn_options()) {
    return ekiden::spawn_in_turn(in, in.keys().write(key), std::forward<F>(f), std::forward<Token>(token),
                                 std::move(chosen));
}

} // namespace ekiden::inline EKIDEN_ABI
