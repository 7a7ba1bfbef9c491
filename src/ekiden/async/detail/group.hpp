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

/// The exceptions of several coroutines, in the order in which they were added. Any thread may add one.
class error_list {
public:
    error_list() noexcept = default;
    ~error_list() { (void)take(); }
    error_list(const error_list&) = delete;
    error_list& operator=(const error_list&) = delete;

    /// Adds an exception; drops it if there is no memory.
    void add(std::exception_ptr error) noexcept;
    /// Returns all exceptions and forgets them. Every add() must be ordered before the call. If memory is
    /// short, some are missing.
    [[nodiscard]] std::vector<std::exception_ptr> take() noexcept;

private:
    struct node {
        std::exception_ptr error;
        node* older;
    };
    sys::atomic<node*> newest_{nullptr};
};

/// Returns whether coroutines under `env`, which are stopped by `stop`, have to stop: because a stop was
/// requested, or because the deadline has come. Coroutines may notice the deadline before the alarm.
[[nodiscard]] bool is_to_stop(const stop_state& stop, const environment& env) noexcept;
/// Returns whether the exception only says that an operation was stopped.
[[nodiscard]] bool is_of_stop(const std::exception_ptr& error) noexcept;

/// The coroutine of a member. It awaits the source of the member, and passes the outcome to the group. Its
/// frame is destroyed at the end of the group's await.
class group_member {
public:
    class promise_type;

    [[nodiscard]] promise_type& promise() const noexcept { return *promise_; }

private:
    explicit group_member(promise_type& own) noexcept : promise_(&own) {}
    promise_type* promise_;
};

/// A base of awaiters. Until publish(), only the thread that awaits uses it. Then the members use it, until
/// the last of them has ended. Afterwards only the awaiting coroutine uses it.
class group {
public:
    static constexpr bool comes_home = true;

    group(const group&) = delete;
    group& operator=(const group&) = delete;

    // ---- for members, on their threads

    /// Returns true for the first caller, whose outcome is that of the group. Stops the other members.
    [[nodiscard]] bool decide() noexcept;
    /// Makes this exception the outcome of the member that has decided.
    void failed_after_all(std::exception_ptr error) noexcept;
    /// An exception has left a member. If it only says that the member was stopped, it decides nothing.
    void failed(std::exception_ptr error) noexcept;
    /// A member has ended. Only its frame is left. Returns the coroutine that continues, for await_suspend().
    [[nodiscard]] std::coroutine_handle<> ended(group_member::promise_type& member) noexcept;
    /// A member will not be resumed any more. This counts as if operation_canceled had left it.
    void abandoned() noexcept;
    /// Returns the promise of the awaiting coroutine; null if it belongs to another library.
    [[nodiscard]] coroutine_promise* parent() const noexcept { return link_.parent; }

    // ---- for the awaiting thread, until publish()

    /// Begins a member that awaits `source`. Runs it up to its first wait. `keep(result...)` stores the
    /// result, on the executor of the member. Both must exist until end_members().
    template <class F, class Keep>
    void begin(F& source, Keep keep) noexcept;
    /// Returns whether the outcome of the group is decided. It is a hint for a caller that begins members.
    [[nodiscard]] bool is_decided() const noexcept {
        // Relaxed: it orders nothing.
        return decided_.load(sys::relaxed);
    }
    /// Returns which of `count` members begins first: another one with each call in a thread. `count` > 0.
    [[nodiscard]] static std::size_t first_of(std::size_t count) noexcept;

protected:
    group() noexcept = default;
    ~group() = default;

    /// Called first. The environment of the members is that of the awaiting coroutine, with a stop of its
    /// own.
    template <class Promise>
    void bind(std::coroutine_handle<Promise> waiting) noexcept {
        way_home_.bind(waiting);
        link_.waiting = waiting;
        if constexpr (std::derived_from<Promise, coroutine_promise>) link_.parent = &waiting.promise();
        env_ = way_home_.env();
        env_.stop = &stop_.emplace(env_.stop);
    }
    /// Does the same, but no stop and no deadline from outside reaches the members.
    template <class Promise>
    void bind_shielded(std::coroutine_handle<Promise> waiting) noexcept {
        bind(waiting);
        stop_.emplace();
        env_.stop = nullptr;
        env_.deadline = sys::clock::time_point::max();
    }
    [[nodiscard]] environment& env() noexcept { return env_; }
    [[nodiscard]] stop_state& stop() noexcept { return *stop_; }
    [[nodiscard]] bool has_pending() const noexcept { return pending_ != 0; }
    /// Returns the stop of the awaiting coroutine, or null.
    [[nodiscard]] const stop_state* outer_stop() const noexcept { return way_home_.env().stop; }
    /// Returns whether the group has no other outcome than that it was stopped.
    [[nodiscard]] bool is_only_stopped() const noexcept {
        return error_of_stop_ != nullptr && !decided_.load(sys::relaxed);
    }
    /// All members have begun. From now on the last one to end resumes the awaiting coroutine, which may
    /// destroy the group. Returns false if all have ended already. `others` parties end besides members.
    [[nodiscard]] bool publish(std::ptrdiff_t others = 0) noexcept;
    /// A party other than a member has ended. It is the caller's last touch of the group.
    void other_ended() noexcept;

    /// Returns when the only party besides one member has ended. For a group that is destroyed while it
    /// waits. `cancel()` makes the party end, here or in another thread.
    template <class Cancel>
    void end_other(Cancel cancel) noexcept {
        // [GP1] Acquire: the party's last touch.
        if (left_.load(sys::acquire) <= 1) return;
        cancel();
        while (left_.load(sys::acquire) > 1) sys::yield();
    }

    /// All members have ended. Destroys their frames. Throws the outcome of the group if it is an exception.
    void finish();
    /// Does the same for a group of several members: suppressed_exceptions() has the other exceptions.
    void finish_several();

    /// Destroys the frames of the members. The most derived destructor calls it, because the members use
    /// everything that this destructor destroys. No member may run any more.
    void end_members() noexcept;

    /// Called when a member ends, before it is counted.
    virtual void member_ends() noexcept {}

private:
    friend class group_member::promise_type;

    void run(group_member::promise_type& fresh) noexcept;
    [[nodiscard]] bool count_end() noexcept;

    suspension way_home_;
    await_link link_; // used by the last member to end
    environment env_;
    std::optional<stop_state> stop_;
    group_member::promise_type* newest_ = nullptr; // the list of all members that have begun
    std::ptrdiff_t pending_ = 0;                   // members that did not end while they began
    sys::atomic<std::ptrdiff_t> left_{0};          // [GP1]: see publish()
    sys::atomic<bool> decided_{false};
    sys::atomic<bool> is_stopped_{false}; // error_of_stop_ is set
    std::exception_ptr error_;            // from the member that has decided
    std::exception_ptr error_of_stop_;    // from the first member that was stopped
    error_list others_;                   // exceptions after the decision
};

class group_member::promise_type final : public coroutine_promise {
public:
    template <class... Rest>
    explicit promise_type(group& owner, const Rest&...) noexcept
        : coroutine_promise(std::source_location::current(), &answer), owner_(owner) {
        work_under(owner.env_);
    }
    [[nodiscard]] group_member get_return_object() noexcept { return group_member(*this); }
    static final_awaiter final_suspend() noexcept { return {}; }
    [[nodiscard]] std::coroutine_handle<> ended() noexcept { return owner_.ended(*this); }
    static void return_void() noexcept {}
    [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); } // the body catches all

    /// Returns the group of a member, or null if the promise does not belong to a member.
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

// ---- members

template <class T>
inline constexpr bool is_coroutine = false;
template <class T>
inline constexpr bool is_coroutine<coroutine<T>> = true;

/// A coroutine, or a callable without parameters whose result can be awaited.
template <class F>
concept group_source = is_coroutine<F> || (std::invocable<F&> && async_source<F>);

/// The type that keeps a result beside others: std::monostate for void, std::reference_wrapper for a
/// reference.
template <class T>
struct kept_result {
    using type = std::remove_cvref_t<T>;
};
template <class T>
struct kept_result<T&> {
    using type = std::reference_wrapper<T>;
};
template <class T>
    requires std::is_void_v<T>
struct kept_result<T> {
    using type = std::monostate;
};
template <class F>
using kept_result_t = typename kept_result<result_of_source<F>>::type;

/// Awaits `source` as a member of `owner`, and passes the result to `keep`.
template <class F, class Keep>
group_member run_member(group& owner, F& source, Keep keep) {
    try {
        if constexpr (std::is_void_v<result_of_source<F>>) {
            co_await source_of(source);
            keep();
        } else {
            result_of_source<F> result = co_await source_of(source);
            keep(static_cast<result_of_source<F>&&>(result));
        }
    } catch (...) {
        owner.failed(std::current_exception());
    }
}

template <class F, class Keep>
void group::begin(F& source, Keep keep) noexcept {
    group_member::promise_type* fresh = nullptr;
    try {
        fresh = &run_member(*this, source, std::move(keep)).promise();
    } catch (...) { // no memory for its frame
        return failed(std::current_exception());
    }
    run(*fresh);
}

/// The member of a group that has only one, with its result.
template <class F>
class only_member {
public:
    template <class G>
    explicit only_member(G&& source) : source_(std::forward<G>(source)) {}

    void begin(group& owner) noexcept {
        owner.begin(source_,
                    [this](auto&&... value) { result_.set_value(std::forward<decltype(value)>(value)...); });
    }
    result_of_source<F> take() { return result_.take(); }

private:
    F source_;
    coroutine_result<result_of_source<F>> result_;
};

/// The awaiter of a group of several members. `Members` has the members and their results:
///   empty()       returns whether there is no member
///   begin(group)  begins the members, until the outcome of the group is decided
///   take()        returns the result of the group
template <class Members>
class [[nodiscard]] group_awaiter final : private group {
public:
    using group::comes_home;

    template <class... Sources>
    explicit group_awaiter(Sources&&... sources) : members_(std::forward<Sources>(sources)...) {}
    ~group_awaiter() { end_members(); } // before members_, which they use

    [[nodiscard]] bool await_ready() const noexcept { return members_.empty(); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        bind(waiting);
        members_.begin(*this);
        return publish();
    }
    auto await_resume() {
        finish_several();
        return members_.take();
    }

private:
    Members members_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
