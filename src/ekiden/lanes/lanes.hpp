/// Lanes. The functions of one key run one at a time, in the order in which they were posted. Functions of
/// different keys run in parallel. A function may have several keys.
///
/// Part: lanes. Used by: programs. A program need not create or destroy single lanes, and an idle lane uses
/// no memory. The page execution/detail/strand.md explains the protocol.
#pragma once

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/lanes/detail/keyed_state.hpp>
#include <ekiden/lanes/detail/lane_request.hpp>
#include <ekiden/lanes/lanes_options.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A set of lanes on one inner executor. Each key has its own lane, which works like a strand.
///
/// A `Key` must be copyable and comparable by ==, and its move constructor must not throw. `Hash` is a hash
/// function for keys. The hash function and the comparison must not throw. The == and the move constructor of
/// a key may be called under a lock of the lanes, so they must not call this library. The copy constructor
/// and the destructor of a key, and the hash function, may call any function, because the lanes call them
/// without holding a lock.
///
/// A *request* is a function with one or more keys. A request writes its keys, except the keys that it only
/// reads (see keys()). Two requests *conflict* if they have a common key and at least one of them writes this
/// key. Requests that conflict run one at a time, in the order of their posts. A request starts when all
/// earlier requests that conflict with it have completed. So the result is the same as if all requests ran
/// one after the other, in the order of their posts. The posts of several threads have one order, which is
/// the same for all keys. A waiting request keeps its place in the lanes of all its keys, and holds no lock.
/// Requests cannot deadlock, because all lanes contain the requests in the same order. Modeled on Calvin
/// (Thomson et al., 2012) and on behaviour-oriented concurrency (Cheeseman et al., 2023).
///
/// A thread runs functions in batches. A batch has at most 64 functions, and takes at most about 100 us.
/// After a batch, the thread lets other tasks of the inner context run. So a key with much work does not
/// delay other keys for long. While a function blocks, other threads of the inner context run the other
/// lanes.
///
/// If a function throws, the inner context handles the exception like an exception of a task. The lane
/// continues with its next function. While the inner context is paused or stopped, no further function
/// begins. If the inner context accepts no more tasks, queued functions are abandoned. Later posts to lanes
/// fail in the same way as posts to the inner context.
///
/// After a batch, the lanes ask the inner executor to run their remaining functions. If the inner executor
/// throws an exception after a batch, the current thread runs the remaining functions. This thread continues
/// even while the inner context is paused. This thread stops if the inner context accepts no more tasks. If
/// the inner executor throws during a post or a dispatch, the functions that other threads have posted
/// meanwhile are abandoned. The same holds if it throws when a request with several keys ends, for the
/// functions that were to run next in other shards. Each of these functions counts as dropped. For each of
/// them, the lanes report the exception of the inner executor, as if the function had thrown it.
///
/// Capacities (see lanes_options) limit the number of waiting functions. Running functions do not count. With
/// the policy `block`, a post queues its function at once. If there is no room, the post then waits until
/// there is room, or until its function begins. The oldest waiting post gets room first. For each waiting
/// thread, a lane contains at most one function beyond its capacity. While a post waits, a worker of a pool
/// runs other tasks, as in future::get(). Some posts must not wait, because the full lane may get room only
/// after the post has returned. The following posts exceed the capacity instead of waiting:
///   * A post by a function of one of these lanes does not wait.
///   * While a function of these lanes waits, a post by another task on the same thread does not wait.
///   * While a turn of these lanes lasts (see async_turn()), a post by a coroutine does not wait.
///   * A post by a thread that is firing or canceling timers does not wait.
///   * A call that resumes a waiting coroutine, such as the unlock() of a lock, does not wait.
///   * If the inner context is a loop, a post by a thread inside run() of the loop does not wait.
///   * A post by a thread outside a pool or loop to a strand on the executor of a lane does not wait.
///   * A post does not wait if there is no memory for the wait.
///
/// Thread safety: all members except the destructor may be called concurrently.
/// Ordering: everything that a request does happens before the beginning of a later request that conflicts
/// with it.
/// Lifetime: after the lanes have been destroyed, posted functions still run, and executors of lanes stay
/// usable. In the child of a fork(), posts, waits, depth(), active(), metrics() and close() throw
/// std::system_error(operation_not_permitted).
template <class Key, class Executor = any_executor, class Hash = std::hash<Key>>
class lanes {
    static_assert(std::copy_constructible<Key> && std::equality_comparable<Key>,
                  "ekiden: lanes: the key must be copyable, and comparable by ==");
    static_assert(
        std::is_nothrow_move_constructible_v<Key>,
        "ekiden: lanes: the key is moved without exceptions; a std::shared_ptr to one that cannot be is");
    static_assert(std::is_invocable_r_v<std::size_t, const Hash&, const Key&>,
                  "ekiden: lanes: the hash is a const function of the key. Specialize std::hash, or pass a "
                  "hash as the third argument");
    static_assert(ekiden::executor<Executor>,
                  "ekiden: lanes: the second argument is an executor; a hash is the third");

    struct lane_reference;

public:
    using key_type = Key;
    using inner_executor_type = Executor;
    using options = lanes_options;
    using metrics_type = lanes_metrics<Key>;

    /// Constructs lanes whose functions run on `inner`. Throws std::bad_alloc, and std::invalid_argument for
    /// options that are not allowed.
    explicit lanes(const Executor& inner, const options& chosen = {}, const Hash& hash = {})
        : state_(new state(inner, chosen, hash)) {}
    /// Constructs lanes whose functions run on the executor of `context`. Throws like the constructor with an
    /// executor.
    template <std::derived_from<execution_context> Context>
        requires std::convertible_to<typename Context::executor_type, Executor>
    explicit lanes(Context& context, const options& chosen = {}, const Hash& hash = {})
        : lanes(Executor(context.get_executor()), chosen, hash) {}
    /// Destroys the lanes. Does not wait for posted functions.
    ~lanes() { state_->drop_handle(); }
    lanes(const lanes&) = delete;
    lanes& operator=(const lanes&) = delete;

    class key_list;
    /// Returns an empty list of keys. For example, `l.post(l.keys().write(to).read(rates, limits), f)` posts
    /// a request that writes one key and only reads two keys.
    [[nodiscard]] key_list keys() const noexcept { return key_list(*state_); }

    /// Returns the executor on which the functions run.
    [[nodiscard]] Executor get_inner_executor() const noexcept { return state_->inner; }
    class lane_type;
    /// Returns a handle of the lane of `key`. Each function with a parameter `key` also accepts a handle. A
    /// post by a handle does not search for the lane, so it is faster than a post by a key. While handles of
    /// a lane exist, the lane needs memory, even if it is idle. Throws std::bad_alloc, and whatever the copy
    /// constructor of the key throws.
    [[nodiscard]] lane_type lane(const Key& key) const;

    class executor_type;
    /// Returns an executor that runs functions in the lane of `key`. The executor stays usable after the
    /// lanes have been destroyed. Throws whatever the copy constructor of the key throws.
    [[nodiscard]] executor_type get_executor(const Key& key) const;
    /// Returns an executor for the key of the handle. The executor does not use the handle.
    [[nodiscard]] executor_type get_executor(const lane_type& handle) const;

    /// Runs `f()` later in the lane of `key`. Returns true if the lane has accepted `f`. Returns false if
    /// there is no room, if the lane is being closed, or if the inner context accepts no more tasks. If
    /// post() returns false, it has destroyed its copy of `f`. Throws like task_sink::post(). If the lanes
    /// have a capacity and there is no memory for the lane, post() throws std::bad_alloc. If the lanes have
    /// no capacity and there is no memory for the lane, `f` is dropped later. In this case, the inner context
    /// handles a std::bad_alloc like an exception of `f`.
    template <class F>
    [[nodiscard]] bool post(const Key& key, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return state_->give(key, std::forward<F>(f), "post", task_order::usual);
    }
    /// Runs `f()` like the function above, in the lane of a handle.
    template <class F>
    [[nodiscard]] bool post(const lane_type& handle, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return state_->give(known(handle, "post"), std::forward<F>(f), "post", task_order::usual);
    }
    /// Runs `f()` later, in the lanes of all `keys` together. A key that occurs twice counts once. If a key
    /// is added both for reading and for writing, `f` writes the key. Without a key, `f` is posted to the
    /// inner executor. If the lanes have no capacity, a request with up to four keys needs one block of
    /// memory.
    ///
    /// Returns and throws like post() with one key. Also throws std::invalid_argument if there are more than
    /// 1,024 keys, or if keys() of other lanes has made the list. Also throws whatever the copy constructor
    /// of a key throws. The following rules apply as well:
    ///   * In each lane, the request counts as one waiting function until no earlier request of this lane
    ///     conflicts with it. lanes_options::capacity counts the request once for each of these lanes.
    ///   * If there is no room in a lane, when_full decides. `reject` and `drop_newest` add the request to
    ///     no lane. `drop_oldest` abandons the oldest function of each full lane, even if it abandons the
    ///     request in the end. `block` waits until there is room in all lanes. A request needs as much of
    ///     lanes_options::capacity as it has keys.
    ///   * close() of one key abandons the request if its function has not begun. The request keeps its
    ///     places in the other lanes until it would have started.
    ///   * Handles in the list must exist until post() returns.
    template <class F>
    [[nodiscard]] bool post(key_list&& keys, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return give(keys, std::forward<F>(f), "post", task_order::usual);
    }
    /// Runs `f()` like the function above. `f` writes all keys.
    template <class F>
    [[nodiscard]] bool post(std::initializer_list<Key> written, F&& f) const {
        return post(keys().write_all({written.begin(), written.size()}), std::forward<F>(f));
    }
    /// Runs `f()` like the function above. `f` writes the keys of all handles.
    template <class F, std::size_t N>
    [[nodiscard]] bool post(const lane_reference (&written)[N], F&& f) const {
        return post(keys().add_all(written, false), std::forward<F>(f));
    }
    /// Runs `f()` like post(), as a continuation of the calling function. No other thread is woken for `f`
    /// before the calling function returns.
    template <class F>
    [[nodiscard]] bool defer(const Key& key, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return state_->give(key, std::forward<F>(f), "defer", task_order::deferred);
    }
    /// Runs `f()` like the function above, in the lane of a handle.
    template <class F>
    [[nodiscard]] bool defer(const lane_type& handle, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return state_->give(known(handle, "defer"), std::forward<F>(f), "defer", task_order::deferred);
    }
    /// Runs `f()` like post() with several keys, as a continuation of the calling function.
    template <class F>
    [[nodiscard]] bool defer(key_list&& keys, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return give(keys, std::forward<F>(f), "defer", task_order::deferred);
    }
    /// Runs `f()` like defer() with several keys. `f` writes all keys.
    template <class F>
    [[nodiscard]] bool defer(std::initializer_list<Key> written, F&& f) const {
        return defer(keys().write_all({written.begin(), written.size()}), std::forward<F>(f));
    }
    /// Runs `f()` like the function above. `f` writes the keys of all handles.
    template <class F, std::size_t N>
    [[nodiscard]] bool defer(const lane_reference (&written)[N], F&& f) const {
        return defer(keys().add_all(written, false), std::forward<F>(f));
    }
    /// Calls `f()` at once if the caller is inside a function of the lane. Also calls `f()` at once if the
    /// lane is idle and the caller is a thread of the inner context. If the inner executor cannot tell which
    /// threads belong to its context (see calls_in_place), no caller counts as a thread of the inner context.
    /// In all other cases, dispatch() posts `f` like post(), and destroys `f` if the post is refused. A call
    /// of dispatch() runs no other function of the lane. A caller that only reads the key does not count as
    /// inside the lane.
    template <class F>
    void dispatch(const Key& key, F&& f) const {
        dispatch_to(key, std::forward<F>(f));
    }
    /// Calls or posts `f` like the function above, in the lane of a handle.
    template <class F>
    void dispatch(const lane_type& handle, F&& f) const {
        dispatch_to(known(handle, "dispatch"), std::forward<F>(f));
    }
    /// Calls `f()` at once if the caller is inside the lanes of all `keys`. If `f` only reads a key, it is
    /// enough that the caller also reads this key. In all other cases, and without a key, posts `f` like
    /// post(), even if the lanes are idle, and destroys `f` if the post is refused.
    template <class F>
    void dispatch(key_list&& keys, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        if (keys.is_inside())
            call_here(std::forward<F>(f));
        else
            static_cast<void>(give(keys, std::forward<F>(f), "dispatch", task_order::usual));
    }
    /// Calls or posts `f` like the function above. `f` writes all keys.
    template <class F>
    void dispatch(std::initializer_list<Key> written, F&& f) const {
        dispatch(keys().write_all({written.begin(), written.size()}), std::forward<F>(f));
    }
    /// Calls or posts `f` like the function above. `f` writes the keys of all handles.
    template <class F, std::size_t N>
    void dispatch(const lane_reference (&written)[N], F&& f) const {
        dispatch(keys().add_all(written, false), std::forward<F>(f));
    }

    /// Returns whether the caller is inside a function of the lane. The function may only read the key.
    [[nodiscard]] bool running_in_this_thread(const Key& key) const {
        return state_->is_inside(key, false) || state_->is_inside(key, true);
    }
    /// Returns whether the caller is inside a function of the lane of a handle.
    [[nodiscard]] bool running_in_this_thread(const lane_type& handle) const {
        const known_lane of = known(handle, "running_in_this_thread");
        return state_->is_inside(of, false) || state_->is_inside(of, true);
    }

    /// Returns how many functions wait in the lane of `key`. If the lanes have no capacity, functions that a
    /// thread has dequeued still count until the batch of this thread ends.
    [[nodiscard]] std::size_t depth(const Key& key) const { return state_->depth(key); }
    /// Returns how many functions wait in the lane of a handle.
    [[nodiscard]] std::size_t depth(const lane_type& handle) const {
        return state_->depth(known(handle, "depth"));
    }

    /// Returns the number of lanes that have a waiting or running function.
    [[nodiscard]] std::size_t active() const { return state_->active(); }

    /// Returns counters of the work that the lanes have done since their construction. Throws std::bad_alloc.
    [[nodiscard]] metrics_type metrics() const { return state_->metrics(); }

    /// Abandons the functions that wait in the lane of `key`, and returns the number of abandoned functions.
    /// Posts that wait for room in the lane return. While a function of the lane is still running, the lane
    /// is closed. If the lanes have a capacity, posts to a closed lane are refused. If the lanes have no
    /// capacity, these posts are accepted, but their functions are abandoned. The thread of the running
    /// function also abandons the functions that it has dequeued already. After the running function has
    /// returned, the lane can be used again. A request with several keys may be the first function of the
    /// lane while it waits for its other keys. Such a request is abandoned, but it does not count in the
    /// result, and the lane is closed until the request would have started.
    std::size_t close(const Key& key) const { return state_->close(key); }
    /// Abandons functions like the function above, in the lane of a handle.
    std::size_t close(const lane_type& handle) const { return state_->close(known(handle, "close")); }

    /// Waits until the lane of `key` has no function to run. Functions that are posted meanwhile prolong the
    /// wait. During the wait, a worker of a pool runs other tasks, as in future::get(). Throws
    /// std::system_error(resource_deadlock_would_occur) if the caller is a function of this lane. Also throws
    /// this exception if a function of this lane waits, and its thread meanwhile runs another task that calls
    /// wait_idle(). A function of another lane must not call wait_idle() if a request with several keys may
    /// wait for both lanes, because the request would wait for the end of this function.
    void wait_idle(const Key& key) const { (void)state_->wait_idle(key, wait_limit()); }
    /// Waits like the function above, for the lane of a handle.
    void wait_idle(const lane_type& handle) const { (void)wait_idle(handle, wait_limit()); }
    /// Waits like wait_idle(key), but gives up when a stop is requested. Returns whether the lane was idle.
    /// Like every wait with a limit, this wait runs no other tasks. If the stop request ends the wait, the
    /// call has no effect.
    [[nodiscard]] bool wait_idle(const Key& key, std::stop_token stop) const {
        return state_->wait_idle(key, wait_limit(std::move(stop)));
    }
    /// Waits like the function above, for the lane of a handle.
    [[nodiscard]] bool wait_idle(const lane_type& handle, std::stop_token stop) const {
        return wait_idle(handle, wait_limit(std::move(stop)));
    }
    /// Waits like wait_idle(key), but gives up when `limit` is reached. Returns whether the lane was idle.
    [[nodiscard]] bool wait_idle(const Key& key, const wait_limit& limit) const {
        return state_->wait_idle(key, limit);
    }
    /// Waits like the function above, for the lane of a handle.
    [[nodiscard]] bool wait_idle(const lane_type& handle, const wait_limit& limit) const {
        return state_->wait_idle(known(handle, "wait_idle"), limit);
    }
    /// Waits like wait_idle(key), at most for `duration`. Returns whether the lane was idle.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_idle_for(const Key& key,
                                     const std::chrono::duration<Rep, Period>& duration) const {
        return state_->wait_idle(key, wait_limit::after(duration));
    }
    /// Waits like the function above, for the lane of a handle.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_idle_for(const lane_type& handle,
                                     const std::chrono::duration<Rep, Period>& duration) const {
        return wait_idle(handle, wait_limit::after(duration));
    }
    /// Waits like wait_idle(key), at most until `deadline`. The deadline may be a time of any clock. Returns
    /// whether the lane was idle.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_idle_until(const Key& key,
                                       const std::chrono::time_point<Clock, Duration>& deadline) const {
        return state_->wait_idle(key, wait_limit::until(deadline));
    }
    /// Waits like the function above, for the lane of a handle.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_idle_until(const lane_type& handle,
                                       const std::chrono::time_point<Clock, Duration>& deadline) const {
        return wait_idle(handle, wait_limit::until(deadline));
    }

private:
    friend struct detail::turn_access;
    using state = keyed_state<Key, Executor, Hash>;

    /// A reference to a handle in braces, so that the handle is not copied.
    struct lane_reference {
        lane_reference(const lane_type& handle) noexcept : to(&handle) {} // NOLINT: in place of a handle
        const lane_type* to;
    };

    [[nodiscard]] known_lane known(const lane_type& handle, const char* where) const {
        if (handle.is_of_others(*state_)) [[unlikely]]
            state::refuse_keys_of_others(where);
        return handle.at_;
    }

    template <class Which, class F>
    void dispatch_to(const Which& to, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        if (state_->is_inside(to, false))
            call_here(std::forward<F>(f));
        else
            state_->dispatch(to, std::forward<F>(f));
    }
    template <class F>
    static void call_here(F&& f) {
        ekiden::refuse_empty<std::decay_t<F>>(f, "dispatch");
        std::decay_t<F> own(std::forward<F>(f));
        static_cast<void>(own());
    }

    template <class F>
    bool give(key_list& keys, F&& f, const char* where, task_order order) const {
        expect_own(keys, where);
        return state_->give(keys.all_, std::forward<F>(f), where, order);
    }
    [[nodiscard]] turn_record& make_turn(key_list& keys, const char* where) const {
        expect_own(keys, where);
        return state_->make_turn(keys.all_, where);
    }
    void expect_own(const key_list& keys, const char* where) const {
        if (&keys.state_ != state_) [[unlikely]]
            state::refuse_keys_of_others(where);
    }

    state* const state_;
};

/// A handle of a lane. Two handles are equal if they have the same key and belong to the same lanes. A copy
/// costs one atomic operation. Posts by key and posts by handle use the same lane. The functions of `lanes`
/// throw std::invalid_argument for a handle of other lanes.
///
/// Thread safety: several threads may use one handle at the same time. Assignment and destruction need
/// exclusive access to the handle. The destruction of the last handle of a lane acquires a lock, except in
/// the child of a fork().
/// Lifetime: a handle may be destroyed after the lanes. After the last handle of a lane has been destroyed,
/// functions that were posted by handle still run.
template <class Key, class Executor, class Hash>
class lanes<Key, Executor, Hash>::lane_type {
public:
    lane_type(const lane_type& other) noexcept : at_(other.at_) {
        if (at_.where != nullptr) at_.where->handles.fetch_add(1, sys::relaxed);
    }
    /// Moves the handle. Afterwards, `other` may only be destroyed or assigned to.
    lane_type(lane_type&& other) noexcept : at_(std::exchange(other.at_, {})) {}
    lane_type& operator=(lane_type other) noexcept {
        std::swap(at_, other.at_);
        return *this;
    }
    ~lane_type() {
        if (at_.where != nullptr) own_state().drop_lane_handle(at_);
    }

    class executor_type;
    /// Returns an executor that posts by this handle. Its scheduler is infallible, so a scheduler of the
    /// sender/receiver model can be made of it (see the page "Together with senders"). Throws
    /// std::invalid_argument if the lanes have a capacity, because such a lane may refuse an operation.
    [[nodiscard]] executor_type get_executor() const;

    /// Returns the key of the lane.
    [[nodiscard]] const Key& key() const noexcept { return state::key_of(*at_.where); }

    friend bool operator==(const lane_type& a, const lane_type& b) noexcept {
        return a.at_.where == b.at_.where;
    }

private:
    friend class lanes;
    lane_type(state& of, const Key& key) : at_(of.lane_with_handle(key)) {}

    [[nodiscard]] state& own_state() const noexcept { return static_cast<state&>(*at_.shard->all); }
    [[nodiscard]] bool is_of_others(const state& all) const noexcept {
        return at_.where == nullptr || at_.shard->all != &all;
    }

    known_lane at_; // contains null pointers if the handle has been moved
};

template <class Key, class Executor, class Hash>
auto lanes<Key, Executor, Hash>::lane(const Key& key) const -> lane_type {
    return lane_type(*state_, key);
}

/// The keys of a request, and for each key whether the request writes or only reads it. A list contains
/// references to the keys, so use a list only in the expression that creates it. In place of a key, each
/// function also accepts a handle. If the list has more than four keys, the functions allocate memory and may
/// throw std::bad_alloc. If a handle belongs to other lanes, they throw std::invalid_argument.
template <class Key, class Executor, class Hash>
class lanes<Key, Executor, Hash>::key_list {
public:
    key_list(const key_list&) = delete;
    key_list& operator=(const key_list&) = delete;

    /// Adds keys that the request writes. While the request runs, no other request with these keys runs.
    template <std::same_as<Key>... More>
    [[nodiscard]] key_list&& write(const Key& first, const More&... more) && {
        (add(first, false), ..., add(more, false));
        return std::move(*this);
    }
    /// Adds the keys of handles as keys that the request writes.
    template <std::same_as<lane_type>... More>
    [[nodiscard]] key_list&& write(const lane_type& first, const More&... more) && {
        (add(first, false), ..., add(more, false));
        return std::move(*this);
    }
    /// Adds keys that the request only reads.
    template <std::same_as<Key>... More>
    [[nodiscard]] key_list&& read(const Key& first, const More&... more) && {
        (add(first, true), ..., add(more, true));
        return std::move(*this);
    }
    /// Adds the keys of handles as keys that the request only reads.
    template <std::same_as<lane_type>... More>
    [[nodiscard]] key_list&& read(const lane_type& first, const More&... more) && {
        (add(first, true), ..., add(more, true));
        return std::move(*this);
    }
    /// Adds all keys of a range, such as a std::vector, as keys that the request writes.
    [[nodiscard]] key_list&& write_all(std::span<const Key> all) && { return add_all(all, false); }
    /// Adds the keys of a range of handles as keys that the request writes.
    template <std::convertible_to<std::span<const lane_type>> Handles>
    [[nodiscard]] key_list&& write_all(const Handles& all) && {
        return add_all(std::span<const lane_type>(all), false);
    }
    /// Adds all keys of a range as keys that the request only reads.
    [[nodiscard]] key_list&& read_all(std::span<const Key> all) && { return add_all(all, true); }
    /// Adds the keys of a range of handles as keys that the request only reads.
    template <std::convertible_to<std::span<const lane_type>> Handles>
    [[nodiscard]] key_list&& read_all(const Handles& all) && {
        return add_all(std::span<const lane_type>(all), true);
    }

private:
    friend class lanes;
    explicit key_list(state& of) noexcept : state_(of) {}

    template <class All>
    [[nodiscard]] key_list&& add_all(const All& all, bool is_shared) {
        for (const auto& each : all) add(each, is_shared);
        return std::move(*this);
    }
    void add(const lane_reference& handle, bool is_shared) { add(*handle.to, is_shared); }
    void add(const Key& key, bool is_shared) {
        const std::uint64_t hash = state_.hash(key);
        add({&key, hash, &state_.shard_of(hash), nullptr, is_shared});
    }
    void add(const lane_type& handle, bool is_shared) {
        if (handle.is_of_others(state_)) [[unlikely]]
            state::refuse_keys_of_others("keys");
        add({&handle.key(), 0, handle.at_.shard, handle.at_.where, is_shared});
    }
    void add(const listed_key<Key>& last) {
        for (listed_key<Key>& known : all_) {
            if (!known.has_key_of(last)) continue;
            known.is_shared = known.is_shared && last.is_shared;
            return;
        }
        all_.push(last);
    }
    [[nodiscard]] bool is_inside() {
        return all_.size() != 0 && std::all_of(all_.begin(), all_.end(), [this](const listed_key<Key>& k) {
                   return state_.is_inside(k, false) || (k.is_shared && state_.is_inside(k, true));
               });
    }

    state& state_;
    short_list<listed_key<Key>> all_;
};

} // namespace ekiden::inline EKIDEN_ABI

#include <ekiden/lanes/lane_executor.hpp> // IWYU pragma: export
