/// Several members that one coroutine waits for, under an environment of their own.
///
/// Part: async. Used by: when_all, when_any, with_deadline, shield. Private. The protocol: stop.md.
#pragma once

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/await_in_place.hpp>
#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::detail {

class group;

/// The exceptions of several coroutines, in the order in which they came. Any thread may add one.
class error_list {
public:
    error_list() noexcept = default;
    ~error_list() { (void)take(); }
    error_list(const error_list&) = delete;
    error_list& operator=(const error_list&) = delete;

    /// Adds an exception; drops it if there is no memory.
    void add(std::exception_ptr error) noexcept;
    /// Returns all, and forgets them. Every add() is ordered before the call. If memory is short, some are
    /// missing.
    [[nodiscard]] std::vector<std::exception_ptr> take() noexcept;

private:
    struct node {
        std::exception_ptr error;
        node* older;
    };
    sys::atomic<node*> newest_{nullptr};
};

/// Whether it says that something was stopped, and no more.
[[nodiscard]] bool is_of_stop(const std::exception_ptr& error) noexcept;

/// The coroutine of a member: awaits what the member is, and gives the outcome to the group. Its frame goes
/// with the group's await.
class group_member {
public:
    class promise_type;

    [[nodiscard]] promise_type& promise() const noexcept { return *promise_; }

private:
    explicit group_member(promise_type& own) noexcept : promise_(&own) {}
    promise_type* promise_;
};

/// Lies in an awaiter. Used by the thread that awaits until publish(), by all members until the last of them
/// has ended, and by the one that awaits again.
class group {
public:
    static constexpr bool comes_home = true;

    group(const group&) = delete;
    group& operator=(const group&) = delete;

    // ---- for members, on their threads

    /// True for the first one: the outcome of the whole group is its own. The others are stopped.
    [[nodiscard]] bool decide() noexcept;
    /// The outcome of the one that has decided is this exception after all.
    void failed_after_all(std::exception_ptr error) noexcept;
    /// An exception has left a member. One that only says that the member was stopped decides nothing.
    void failed(std::exception_ptr error) noexcept;
    /// A member has ended, of which nothing is left but its frame. Returns who goes on: see await_suspend().
    [[nodiscard]] std::coroutine_handle<> ended(group_member::promise_type& member) noexcept;
    /// A member will not be resumed any more, which counts as if operation_canceled had left it.
    void abandoned() noexcept;
    /// The coroutine that awaits, as seen from its members; null if it is another library's.
    [[nodiscard]] coroutine_promise* parent() const noexcept { return link_.parent; }

protected:
    group() noexcept = default;
    ~group() = default;

    /// The first of an await. The members' environment is that of the one that awaits, with a stop of its
    /// own.
    template <class Promise>
    void bind(std::coroutine_handle<Promise> waiting) noexcept {
        way_home_.bind(waiting);
        link_.waiting = waiting;
        if constexpr (std::derived_from<Promise, coroutine_promise>) link_.parent = &waiting.promise();
        env_ = way_home_.env();
        env_.stop = &stop_.emplace(env_.stop);
    }
    /// The same, but nothing stops the members.
    template <class Promise>
    void bind_shielded(std::coroutine_handle<Promise> waiting) noexcept {
        bind(waiting);
        stop_.emplace();
        env_.stop = nullptr;
        env_.deadline = sys::clock::time_point::max();
    }
    [[nodiscard]] environment& env() noexcept { return env_; }
    [[nodiscard]] stop_state& stop() noexcept { return *stop_; }

    /// Begins a member that `make()` makes. It runs in here as far as it goes.
    template <class Make>
    void begin(Make&& make) noexcept {
        group_member::promise_type* fresh = nullptr;
        try {
            fresh = &make().promise();
        } catch (...) { // no memory for its frame
            return failed(std::current_exception());
        }
        run(*fresh);
    }
    [[nodiscard]] bool is_decided() const noexcept {
        // A hint, while members run: whether it pays to begin another one.
        return decided_.load(sys::relaxed);
    }
    /// Returns which of `count` members begins first: another one with each call in a thread. `count` > 0.
    [[nodiscard]] static std::size_t first_of(std::size_t count) noexcept;
    [[nodiscard]] bool has_pending() const noexcept { return pending_ != 0; }
    /// The stop of the one that awaits, or null.
    [[nodiscard]] const stop_state* outer_stop() const noexcept { return way_home_.env().stop; }
    /// Nothing has come out of the group but that it was stopped.
    [[nodiscard]] bool is_only_stopped() const noexcept {
        return error_of_stop_ != nullptr && !decided_.load(sys::relaxed);
    }
    /// All have begun: from now on the last to end resumes the one that awaits, and the group may be gone.
    /// False: all have ended already. `others` parties end besides members.
    [[nodiscard]] bool publish(std::ptrdiff_t others = 0) noexcept;
    /// A party other than a member has ended. The caller's last touch of the group.
    void other_ended() noexcept;

    /// For a party besides one member, if the group is destroyed while it waits: that has ended afterwards.
    /// `cancel()` sees to it, or another thread is at it.
    template <class Cancel>
    void end_other(Cancel cancel) noexcept {
        // [GP1] acquire: the party's last touch.
        if (left_.load(sys::acquire) <= 1) return;
        cancel();
        while (left_.load(sys::acquire) > 1) sys::yield();
    }

    /// All have ended: ends their frames, and throws what has come out of the group, if anything.
    void finish();
    /// The same for a group of several members: suppressed_exceptions() has the others.
    void finish_several();

    /// Nothing of the group runs any more. By each destructor that is the last one, for the members use what
    /// it destroys.
    void end_members() noexcept;

    /// Called as a member ends, before it is counted.
    virtual void member_ends() noexcept {}

private:
    friend class group_member::promise_type;

    void run(group_member::promise_type& fresh) noexcept;
    [[nodiscard]] bool count_end() noexcept;
    /// Members are stopped, or their deadline has come, which some notice before the alarm.
    [[nodiscard]] bool is_to_stop() const noexcept;

    suspension way_home_;
    await_link link_; // of the last member to end
    environment env_;
    std::optional<stop_state> stop_;
    group_member::promise_type* newest_ = nullptr; // all that have begun
    std::ptrdiff_t pending_ = 0;                   // begun and not ended while it began
    sys::atomic<std::ptrdiff_t> left_{0};          // [GP1]: see publish()
    sys::atomic<bool> decided_{false};
    sys::atomic<bool> is_stopped_{false}; // error_of_stop_ is set
    std::exception_ptr error_;            // of the one that has decided
    std::exception_ptr error_of_stop_;    // of the first that was stopped
    error_list others_;                   // that came after that of the one that has decided
};

class group_member::promise_type final : public coroutine_promise {
    struct last_awaiter {
        [[nodiscard]] static bool await_ready() noexcept { return false; }
        [[nodiscard]] static std::coroutine_handle<>
        await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
            promise_type& own = ended.promise();
            return own.owner_.ended(own);
        }
        static void await_resume() noexcept {}
    };

public:
    template <class... Rest>
    explicit promise_type(group& owner, const Rest&...) noexcept
        : coroutine_promise(std::source_location::current(), &answer), owner_(owner) {
        work_under(owner.env_);
    }
    [[nodiscard]] group_member get_return_object() noexcept { return group_member(*this); }
    static last_awaiter final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); } // the body catches all

    /// The group of a promise, or null if it is none of a member.
    [[nodiscard]] static group* group_of(coroutine_promise& any) noexcept {
        return any.type() == &answer ? &static_cast<promise_type&>(any).owner_ : nullptr;
    }

private:
    friend class group;

    static const char* answer(task* self, task_request request) {
        if (request != task_request::dispose) return answer_as_coroutine(self, request);
        static_cast<promise_type*>(self)->owner_.abandoned();
        return nullptr;
    }

    group& owner_;
    promise_type* older_ = nullptr; // in the group's list
};

// ---- what can be a member

template <class T>
inline constexpr bool is_coroutine = false;
template <class T>
inline constexpr bool is_coroutine<coroutine<T>> = true;

/// A callable without parameters whose result can be awaited.
template <class F>
concept async_callable = requires(F& f) { requires awaiter<awaiter_t<std::invoke_result_t<F&>>>; };

template <class F>
concept group_source = is_coroutine<F> || async_callable<F>;

/// The coroutine that was given, or what the callable gives.
template <class F>
decltype(auto) source_of(F& given) {
    if constexpr (is_coroutine<F>)
        return std::move(given);
    else
        return std::invoke(given);
}
template <class F>
using result_of_source =
    decltype(std::declval<awaiter_t<decltype(source_of(std::declval<F&>()))>&>().await_resume());

/// A result as it is kept beside others: nothing is std::monostate, a reference a std::reference_wrapper.
template <class T>
struct kept_result {
    using type = std::remove_cv_t<T>;
};
template <class T>
struct kept_result<T&> {
    using type = std::reference_wrapper<T>;
};
template <class T>
struct kept_result<T&&> {
    using type = std::remove_cv_t<T>;
};
template <class T>
    requires std::is_void_v<T>
struct kept_result<T> {
    using type = std::monostate;
};
template <class F>
using kept_result_t = typename kept_result<result_of_source<F>>::type;

/// The result of an only member.
template <class T>
class member_result {
public:
    [[nodiscard]] auto keep() noexcept {
        return
            [this](group&, auto&&... value) { result_.set_value(std::forward<decltype(value)>(value)...); };
    }
    T take() { return result_.take(); }

private:
    coroutine_result<T> result_;
};

/// Awaits `source` as a member of `owner`. `keep(owner, result...)` takes the result, on the member's
/// executor.
template <class F, class Keep>
group_member run_member(group& owner, F& source, Keep keep) {
    try {
        if constexpr (std::is_void_v<result_of_source<F>>) {
            co_await source_of(source);
            keep(owner);
        } else {
            result_of_source<F> result = co_await source_of(source);
            keep(owner, static_cast<result_of_source<F>&&>(result));
        }
    } catch (...) {
        owner.failed(std::current_exception());
    }
}

} // namespace ekiden::inline EKIDEN_ABI::detail
