/// A group of coroutines for which one coroutine waits. The coroutines of the group are called its members,
/// and share an environment.
///
/// Part: async. Used by: when_all, when_any, with_deadline, shield. This header is private. stop.md describes
/// the protocol.
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

/// A list of the exceptions of several coroutines, in the order in which the exceptions were added. Any
/// thread may add an exception.
class error_list {
public:
    error_list() noexcept = default;
    ~error_list() { (void)take(); }
    error_list(const error_list&) = delete;
    error_list& operator=(const error_list&) = delete;

    /// Adds an exception. If no memory is available, the exception is dropped.
    void add(std::exception_ptr error) noexcept;
    /// Returns all exceptions, and empties the list. Every call of add() must happen before this call. If no
    /// memory is available, the result lacks some exceptions.
    [[nodiscard]] std::vector<std::exception_ptr> take() noexcept;

private:
    struct node {
        std::exception_ptr error;
        node* older;
    };
    sys::atomic<node*> newest_{nullptr};
};

/// Returns whether coroutines with the stop state `stop` and the environment `env` must stop. These
/// coroutines must stop if a stop was requested, or if the deadline of `env` has passed. A coroutine may
/// notice the deadline before the timer of this deadline fires.
[[nodiscard]] bool is_to_stop(const stop_state& stop, const environment& env) noexcept;
/// Returns whether the exception is a std::system_error with the code operation_canceled.
[[nodiscard]] bool is_of_stop(const std::exception_ptr& error) noexcept;

/// The coroutine type of the members of a group. A member awaits a coroutine or awaitable that the program
/// has passed to the group, and reports the outcome to the group. The frame of the member is destroyed at the
/// end of the `co_await` of the group.
class group_member {
public:
    class promise_type;

    [[nodiscard]] promise_type& promise() const noexcept { return *promise_; }

private:
    explicit group_member(promise_type& own) noexcept : promise_(&own) {}
    promise_type* promise_;
};

/// The base class of awaiters of groups. Until publish() is called, the awaiting thread and the members use
/// the group. After this call, only the members use the group, until the last member has ended. Then only the
/// awaiting coroutine uses the group.
class group {
public:
    static constexpr bool comes_home = true;

    group(const group&) = delete;
    group& operator=(const group&) = delete;

    // ---- Called by the threads of the members

    /// Called by a member that has a result. The first call of decide() stops the other members and returns
    /// true. The outcome of the member that made this first call becomes the outcome of the group.
    [[nodiscard]] bool decide() noexcept;
    /// Makes `error` the outcome of the group. Called by the member for which decide() has returned true.
    void failed_after_all(std::exception_ptr error) noexcept;
    /// Called if a member has thrown `error`. If the exception only says that the member was stopped, the
    /// exception does not decide the outcome of the group.
    void failed(std::exception_ptr error) noexcept;
    /// Called when a member has ended, and only its frame still exists. Returns the coroutine that this
    /// thread resumes next.
    [[nodiscard]] std::coroutine_handle<> ended(group_member::promise_type& member) noexcept;
    /// Called if an executor has dropped a member. The group treats the member as if it had thrown
    /// operation_canceled.
    void abandoned() noexcept;
    /// Returns the promise of the awaiting coroutine, or null if this coroutine belongs to another library.
    [[nodiscard]] coroutine_promise* parent() const noexcept { return link_.parent; }

    // ---- Called by the awaiting thread, before publish()

    /// Begins a member that awaits `source`, and runs the member until its first wait. The member calls
    /// `keep(result...)` on its executor, to store the result. `source` must exist until end_members() is
    /// called.
    template <class F, class Keep>
    void begin(F& source, Keep keep) noexcept;
    /// Returns whether the outcome of the group is decided. The result is only a hint. If the outcome is
    /// decided, the caller need not begin more members.
    [[nodiscard]] bool is_decided() const noexcept {
        // Relaxed is enough, because the result is only a hint.
        return decided_.load(sys::relaxed);
    }
    /// Returns the index of the member that begins first. `count` is the number of members, and must be
    /// greater than 0. The index changes from call to call in the same thread.
    [[nodiscard]] static std::size_t first_of(std::size_t count) noexcept;

protected:
    group() noexcept = default;
    ~group() = default;

    /// Must be called before all other functions. Sets the environment of the members. This environment is a
    /// copy of the awaiting coroutine's environment, except that it has its own stop state.
    template <class Promise>
    void bind(std::coroutine_handle<Promise> waiting) noexcept {
        way_home_.bind(waiting);
        link_.waiting = waiting;
        if constexpr (std::derived_from<Promise, coroutine_promise>) link_.parent = &waiting.promise();
        env_ = way_home_.env();
        env_.stop = &stop_.emplace(env_.stop);
    }
    /// Sets the environment of the members like bind(). However, stop requests and deadlines from outside the
    /// group do not reach these members.
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
    /// Returns the stop state of the awaiting coroutine, or null if the coroutine has none.
    [[nodiscard]] const stop_state* outer_stop() const noexcept { return way_home_.env().stop; }
    /// Returns true if a member has reported that it was stopped, and if the group has no other outcome.
    [[nodiscard]] bool is_only_stopped() const noexcept {
        return error_of_stop_ != nullptr && !decided_.load(sys::relaxed);
    }
    /// Called when all members have begun. After this call, the last member that ends resumes the awaiting
    /// coroutine, which may destroy the group. Returns false if all members have ended already. The group may
    /// also wait for activities that are not members, such as a timer. `others` is the number of these
    /// activities. Each activity must call other_ended().
    [[nodiscard]] bool publish(std::ptrdiff_t others = 0) noexcept;
    /// Called when an activity that is not a member has ended. The caller must not access the group
    /// afterwards.
    void other_ended() noexcept;

    /// Cancels an activity that is not a member, and waits until the activity has ended. The group must have
    /// only one member. Used if the group is destroyed before the activity has ended. `cancel()` makes the
    /// activity end, in this thread or in another thread.
    template <class Cancel>
    void end_other(Cancel cancel) noexcept {
        // [GP1] Acquire: pairs with the release in other_ended(), which is the last access of the activity to
        // the group.
        if (left_.load(sys::acquire) <= 1) return;
        cancel();
        while (left_.load(sys::acquire) > 1) sys::yield();
    }

    /// Called when all members have ended. Destroys the frames of the members. If the outcome of the group is
    /// an exception, throws this exception.
    void finish();
    /// Does the same as finish(), for a group of several members. Exceptions that do not decide the outcome
    /// become the suppressed_exceptions() of the thread.
    void finish_several();

    /// Destroys the frames of the members. The destructor of the most derived class must call this function
    /// first, because the members use the objects of that class. No member may run any more.
    void end_members() noexcept;

    /// Called when a member ends, before the group counts the end of this member.
    virtual void member_ends() noexcept {}

private:
    friend class group_member::promise_type;

    void run(group_member::promise_type& fresh) noexcept;
    [[nodiscard]] bool count_end() noexcept;

    suspension way_home_;
    await_link link_; // the last member that ends uses this link to resume the awaiting coroutine
    environment env_;
    std::optional<stop_state> stop_;
    group_member::promise_type* newest_ = nullptr; // the head of the list of all members that have begun
    std::ptrdiff_t pending_ = 0;                   // number of members that did not end inside run()
    sys::atomic<std::ptrdiff_t> left_{0};          // [GP1] publish() describes this counter.
    sys::atomic<bool> decided_{false};
    sys::atomic<bool> is_stopped_{false}; // true if error_of_stop_ is set
    std::exception_ptr error_;            // the exception of the member that decided the outcome
    std::exception_ptr error_of_stop_;    // the exception of the first member that was stopped
    error_list others_;                   // exceptions that members threw after the decision
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
    [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); } // run_member() catches all

    /// Returns the group of the member whose promise is `any`, or null if `any` is not the promise of a
    /// member.
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
    promise_type* older_ = nullptr; // the next member in the list of the group
};

// ---- members

template <class T>
inline constexpr bool is_coroutine = false;
template <class T>
inline constexpr bool is_coroutine<coroutine<T>> = true;

/// Satisfied by a coroutine, and by a callable without parameters whose result can be awaited.
template <class F>
concept group_source = is_coroutine<F> || (std::invocable<F&> && async_source<F>);

/// The type that stores the result of one member. A void result is stored as a std::monostate, and a
/// reference is stored as a std::reference_wrapper.
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

/// The body of a member. Awaits `source`, and passes the result to `keep`.
template <class F, class Keep>
group_member run_member(group& owner, F& source, Keep keep) {
    try {
        if constexpr (std::is_void_v<result_of_source<F>>) {
            co_await detail::source_of(source);
            keep();
        } else {
            result_of_source<F> result = co_await detail::source_of(source);
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
        fresh = &detail::run_member(*this, source, std::move(keep)).promise();
    } catch (...) { // there is no memory for the frame of the member
        return failed(std::current_exception());
    }
    run(*fresh);
}

/// The only member of a group, together with its result.
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

/// The awaiter of a group of several members. `Members` contains the members and their results. `Members` has
/// these functions:
///
/// * empty() returns true if there are no members.
/// * begin(group) begins one member after another, until the outcome of the group is decided.
/// * take() returns the result of the group.
template <class Members>
class [[nodiscard]] group_awaiter final : private group {
public:
    using group::comes_home;

    template <class... Sources>
    explicit group_awaiter(Sources&&... sources) : members_(std::forward<Sources>(sources)...) {}
    ~group_awaiter() { end_members(); } // must run before members_ is destroyed, because the members use it

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
