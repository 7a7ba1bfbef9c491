/// Lanes. The functions of one key run one at a time, in the order in which they were posted. Functions of
/// different keys run in parallel. A function may have several keys.
///
/// Part: lanes. Used by: programs. A program need not create or destroy single lanes, and an idle lane uses
/// no memory. The page execution/detail/strand.md explains the protocol.
#pragma once

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/lanes/detail/lane_request.hpp>
#include <ekiden/lanes/detail/lanes_state.hpp>
#include <ekiden/lanes/detail/longest_delays.hpp>
#include <ekiden/lanes/lanes_options.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/bad_argument.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
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
/// The functions of a key begin in the order of their posts, one at a time. A thread runs functions in
/// batches. A batch has at most 64 functions, and takes at most about 100 us. After a batch, the thread lets
/// other tasks of the inner context run. So a key with much work does not delay other keys for long. While a
/// function blocks, other threads of the inner context run the other lanes.
///
/// A function with several keys is called a request. Two requests *share* a key if both have the key, and at
/// least one of them writes the key. Requests that share a key run one at a time, in the order of their
/// posts. A request starts when it is the first of the waiting functions in the lanes of all its keys. A
/// request that waits for one key keeps its place in the lanes of its other keys. Requests that only read a
/// key run at the same time if no function between them writes the key. So the result is the same as if all
/// functions ran one after the other, in the order of their posts. Posts of several threads have one order,
/// which is the same for all keys. Requests cannot deadlock, because all lanes contain the requests in the
/// same order. The idea comes from deterministic databases: see Thomson et al., "Calvin" (2012).
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
/// meanwhile are abandoned. Each of these functions counts as dropped. For each of them, the lanes report the
/// exception of the inner executor, as if the function had thrown it.
///
/// Capacities (see lanes_options) limit the number of waiting functions. Running functions do not count. With
/// the policy `block`, a post queues its function at once. If there is no room, the post then waits until
/// enough older functions have begun. So waiting threads continue in the order of their posts. For each
/// waiting thread, a lane contains at most one function beyond its capacity. While a post waits, a worker of
/// a pool runs other tasks, as in future::get(). Some posts must not wait, because the full lane may get room
/// only after the post has returned. The following posts exceed the capacity instead of waiting:
///   * A post by a function of one of these lanes does not wait.
///   * While a function of these lanes waits, a post by another task on the same thread does not wait.
///   * A post by a thread that is firing or canceling timers does not wait.
///
/// Thread safety: all members except the destructor may be called concurrently.
/// Ordering: everything that one function does happens before the next function of its key begins.
/// Lifetime: after the lanes have been destroyed, posted functions still run, and executors of lanes stay
/// usable. In the child of a fork(), posts, waits, depth(), active(), metrics() and close() throw
/// std::system_error(operation_not_permitted).
template <class Key, class Executor = any_executor, class Hash = std::hash<Key>>
class lanes {
    static_assert(std::copy_constructible<Key> && std::equality_comparable<Key>,
                  "ekiden: lanes: the key can be copied and compared by ==");
    static_assert(
        std::is_nothrow_move_constructible_v<Key>,
        "ekiden: lanes: the key is moved without exceptions; a std::shared_ptr to one that cannot be is");
    static_assert(std::is_invocable_r_v<std::size_t, const Hash&, const Key&>,
                  "ekiden: lanes: the hash is a const function of the key; std::hash has none for this type");
    static_assert(ekiden::executor<Executor>,
                  "ekiden: lanes: the second argument is an executor; a hash is the third");

public:
    using key_type = Key;
    using inner_executor_type = Executor;
    using options = lanes_options;
    using metrics_type = lanes_metrics<Key>;

    /// Constructs lanes whose functions run on `inner`. Throws std::bad_alloc, and std::invalid_argument for
    /// options that are not allowed.
    explicit lanes(const Executor& inner, const options& chosen = {}, const Hash& hash = {})
        : state_(new state(inner, chosen, hash)) {}
    /// Destroys the lanes. Does not wait for posted functions.
    ~lanes() { state_->drop_handle(); }
    lanes(const lanes&) = delete;
    lanes& operator=(const lanes&) = delete;

    class key_list;
    /// Returns an empty list of keys. For example, `l.post(l.keys().write(to).read(rates, limits), f)` posts
    /// a request that writes one key and reads two keys.
    [[nodiscard]] key_list keys() const noexcept { return key_list(*state_); }

    class executor_type;
    /// Returns an executor that runs functions in the lane of `key`. The executor stays usable after the
    /// lanes have been destroyed. Throws whatever the copy constructor of the key throws.
    [[nodiscard]] executor_type get_executor(const Key& key) const;

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
    /// Runs `f()` later, when `f` is first in the lanes of all `keys`. Lanes of keys that `f` writes run no
    /// other function at the same time. A key that occurs twice counts once, and if `f` reads and writes a
    /// key, `f` writes it. Without a key, `f` goes to the inner executor at once. The memory of `f` and of up
    /// to four keys is allocated as one block. Throws whatever the copy constructor of a key throws, and
    /// std::invalid_argument if there are more than 1,024 keys.
    ///
    /// The result and the exceptions are those of post() with one key. In addition:
    ///   * A request counts as one waiting function in the lane of each key, until the lane has no earlier
    ///     function. With lanes_options::capacity, it counts once for each key.
    ///   * If there is no room in one lane, when_full decides. `reject` and `drop_newest` add the request to
    ///     no lane. `drop_oldest` abandons the oldest function of each full lane. `block` waits until there
    ///     is room in all lanes.
    ///   * close() of one key abandons the request, unless its function has begun. The request keeps its
    ///     places in the other lanes until it would have started.
    template <class F>
    [[nodiscard]] bool post(key_list&& keys, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return state_->give(keys, std::forward<F>(f), "post", task_order::usual);
    }
    /// Runs `f()` like the function above. `f` writes all keys.
    template <class F>
    [[nodiscard]] bool post(std::initializer_list<Key> written, F&& f) const {
        return post(keys().write_all({written.begin(), written.size()}), std::forward<F>(f));
    }
    /// Runs `f()` like post(), as a continuation of the calling function. No other thread is woken for `f`
    /// before the calling function returns.
    template <class F>
    [[nodiscard]] bool defer(const Key& key, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return state_->give(key, std::forward<F>(f), "defer", task_order::deferred);
    }
    /// Runs `f()` like post() with several keys, as a continuation of the calling function.
    template <class F>
    [[nodiscard]] bool defer(key_list&& keys, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return state_->give(keys, std::forward<F>(f), "defer", task_order::deferred);
    }
    /// Runs `f()` like defer() with several keys. `f` writes all keys.
    template <class F>
    [[nodiscard]] bool defer(std::initializer_list<Key> written, F&& f) const {
        return defer(keys().write_all({written.begin(), written.size()}), std::forward<F>(f));
    }
    /// Calls `f()` at once if the caller is inside a function of the lane. Also calls `f()` at once if the
    /// lane is idle and the caller is a thread of the inner context. If the inner executor cannot tell which
    /// threads belong to its context (see calls_in_place), no caller counts as a thread of the inner context.
    /// In all other cases, dispatch() posts `f` like post(), and destroys `f` if the post is refused. A call
    /// of dispatch() runs no other function of the lane. A function that only reads the key does not count as
    /// inside.
    template <class F>
    void dispatch(const Key& key, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        if (state_->is_inside(key, false))
            call_here(std::forward<F>(f));
        else
            state_->dispatch(key, std::forward<F>(f));
    }
    /// Calls `f()` at once if the caller is inside functions that have all `keys` in the same way. Otherwise,
    /// or without a key, posts `f` like post(), and destroys `f` if the post is refused.
    template <class F>
    void dispatch(key_list&& keys, F&& f) const {
        detail::expect_callable_without_arguments<F>();
        if (keys.is_inside())
            call_here(std::forward<F>(f));
        else
            static_cast<void>(state_->give(keys, std::forward<F>(f), "dispatch", task_order::usual));
    }
    /// Calls or posts `f` like the function above. `f` writes all keys.
    template <class F>
    void dispatch(std::initializer_list<Key> written, F&& f) const {
        dispatch(keys().write_all({written.begin(), written.size()}), std::forward<F>(f));
    }

    /// Returns whether the caller is inside a function of the lane.
    [[nodiscard]] bool running_in_this_thread(const Key& key) const {
        return state_->is_inside(key, false) || state_->is_inside(key, true);
    }

    /// Returns how many functions wait in the lane of `key`. If the lanes have no capacity, functions that a
    /// thread has dequeued still count until the batch of this thread ends.
    [[nodiscard]] std::size_t depth(const Key& key) const { return state_->depth(key); }

    /// Returns the number of lanes that have a waiting or running function.
    [[nodiscard]] std::size_t active() const { return state_->active(); }

    /// Returns counters of the work that the lanes have done since their construction. Throws std::bad_alloc.
    [[nodiscard]] metrics_type metrics() const { return state_->metrics(); }

    /// Abandons the functions that wait in the lane of `key`, and returns the number of abandoned functions.
    /// Posts that wait for room in the lane return. While a function of the lane is still running, the lane
    /// is closed. If the lanes have a capacity, posts to a closed lane are refused. If the lanes have no
    /// capacity, these posts are accepted, but their functions are abandoned. The thread of the running
    /// function also abandons the functions that it has dequeued already. After the running function has
    /// returned, the lane can be used again.
    std::size_t close(const Key& key) const { return state_->close(key); }

    /// Waits until the lane of `key` has no function to run. Functions that are posted meanwhile prolong the
    /// wait. During the wait, a worker of a pool runs other tasks, as in future::get(). Throws
    /// std::system_error(resource_deadlock_would_occur) if the caller is a function of this lane. Also throws
    /// this exception if a function of this lane waits, and its thread meanwhile runs another task that calls
    /// wait_idle().
    void wait_idle(const Key& key) const { (void)state_->wait_idle(key, wait_limit()); }
    /// Waits like wait_idle(key), but gives up when a stop is requested. Returns whether the lane was idle.
    /// Like every wait with a limit, this wait runs no other tasks. If the stop request ends the wait, the
    /// call has no effect.
    [[nodiscard]] bool wait_idle(const Key& key, std::stop_token stop) const {
        return state_->wait_idle(key, wait_limit(std::move(stop)));
    }
    /// Waits like wait_idle(key), but gives up when `limit` is reached. Returns whether the lane was idle.
    [[nodiscard]] bool wait_idle(const Key& key, const wait_limit& limit) const {
        return state_->wait_idle(key, limit);
    }
    /// Waits like wait_idle(key), at most for `duration`. Returns whether the lane was idle.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_idle_for(const Key& key,
                                     const std::chrono::duration<Rep, Period>& duration) const {
        return state_->wait_idle(key, wait_limit::after(duration));
    }
    /// Waits like wait_idle(key), at most until `deadline`. The deadline may be a time of any clock. Returns
    /// whether the lane was idle.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_idle_until(const Key& key,
                                       const std::chrono::time_point<Clock, Duration>& deadline) const {
        return state_->wait_idle(key, wait_limit::until(deadline));
    }

private:
    class state;

    template <class F>
    static void call_here(F&& f) {
        refuse_empty<std::decay_t<F>>(f, "dispatch");
        std::decay_t<F> own(std::forward<F>(f));
        static_cast<void>(own());
    }

    state* const state_;
};

/// The keys of one request, and what the request does with each key. A list contains references to the keys.
/// So use it only in the expression that creates it. The functions throw std::bad_alloc.
template <class Key, class Executor, class Hash>
class lanes<Key, Executor, Hash>::key_list {
public:
    key_list(const key_list&) = delete;
    key_list& operator=(const key_list&) = delete;

    /// Adds keys that the request writes. While the request runs, the lanes of these keys run no other
    /// function.
    template <std::same_as<Key>... More>
    [[nodiscard]] key_list&& write(const Key& first, const More&... more) && {
        add(first, false);
        (add(more, false), ...);
        return std::move(*this);
    }
    /// Adds keys that the request only reads.
    template <std::same_as<Key>... More>
    [[nodiscard]] key_list&& read(const Key& first, const More&... more) && {
        add(first, true);
        (add(more, true), ...);
        return std::move(*this);
    }
    /// Adds all keys of a range, such as a std::vector, as keys that the request writes.
    [[nodiscard]] key_list&& write_all(std::span<const Key> all) && {
        for (const Key& key : all) add(key, false);
        return std::move(*this);
    }
    /// Adds all keys of a range as keys that the request only reads.
    [[nodiscard]] key_list&& read_all(std::span<const Key> all) && {
        for (const Key& key : all) add(key, true);
        return std::move(*this);
    }

private:
    friend class lanes;
    friend class state;
    explicit key_list(state& of) noexcept : state_(of) {}

    void add(const Key& key, bool is_shared) {
        const std::uint64_t hash = state_.hash(key);
        for (listed_key<Key>& known : all_) {
            if (known.hash != hash || !(*known.key == key)) continue;
            known.is_shared = known.is_shared && is_shared;
            return;
        }
        all_.push({&key, hash, &state_.shard_of(hash), is_shared});
    }
    [[nodiscard]] bool is_inside() {
        return all_.size() != 0 && std::all_of(all_.begin(), all_.end(), [this](const listed_key<Key>& k) {
                   return state_.is_inside(*k.key, false) || (k.is_shared && state_.is_inside(*k.key, true));
               });
    }

    state& state_;
    short_list<listed_key<Key>> all_;
};

/// The state that the lanes and their executors share.
template <class Key, class Executor, class Hash>
class lanes<Key, Executor, Hash>::state final : public lanes_state {
public:
    state(const Executor& chosen, const lanes_options& how, const Hash& hash)
        : lanes_state(how, table, chosen.context()), inner(chosen), hash_(hash) {}
    ~state() { end_unused(); }

    const Executor inner;

    /// Posts a function to a lane.
    template <class F>
    bool give(const Key& key, F&& f, const char* where, task_order order) {
        if (takes_no_more()) [[unlikely]] // in this case, the inner executor refuses the task
            return accept_task(Executor(inner), make_task(std::forward<F>(f), where), order);
        const std::uint64_t hashed = hash(key);
        return enqueue(shard_of(hashed), make_keyed(key, hashed, std::forward<F>(f), where), order);
    }

    /// Posts a request with several keys.
    template <class F>
    bool give(key_list& keys, F&& f, const char* where, task_order order) {
        const std::size_t count = keys.all_.size();
        if (count == 0 || takes_no_more())
            return accept_task(Executor(inner), make_task(std::forward<F>(f), where), order);
        if (count > most_keys) sys::refuse_argument(where, "number of keys", count, "0 to 1,024");
        const listed_key<Key>& first = *keys.all_.begin();
        if (count == 1 && !first.is_shared) return give(*first.key, std::forward<F>(f), where, order);
        refuse_in_child(where);
        refuse_empty<std::decay_t<F>>(f, where);
        std::sort(keys.all_.begin(), keys.all_.end(),
                  [](const auto& a, const auto& b) { return std::less<>()(a.shard, b.shard); });
        using request = lane_request_of<Key, std::decay_t<F>>;
        return enqueue(request::make({keys.all_.begin(), count}, std::forward<F>(f)), order);
    }

    /// Passes a task to a lane, like accept() of an executor.
    bool accept(const Key& key, task* given, task_order order) {
        return give(key, owned_task(given), "post", order);
    }

    /// Calls a function at once if the function may run on this thread and the lane is idle. Otherwise posts
    /// the function.
    template <class F>
    void dispatch(const Key& key, F&& f) {
        if (takes_no_more() || !calls_in_place(inner))
            return static_cast<void>(give(key, std::forward<F>(f), "dispatch", task_order::usual));
        const std::uint64_t hashed = hash(key);
        lane_shard& s = shard_of(hashed);
        keyed_task* const given = make_keyed(key, hashed, std::forward<F>(f), "dispatch");
        if (!runs_here(s, given)) (void)enqueue(s, given, task_order::usual);
    }

    /// Returns whether the caller is inside a function that shares the lane, or has the lane alone.
    [[nodiscard]] bool is_inside(const Key& key, bool is_shared) {
        if (thread_record::here().serial == nullptr || is_in_child()) return false;
        const place at = find(key, false);
        return at.found != nullptr && serial_scope::is_inside(scope_of(*at.found, is_shared));
    }

    [[nodiscard]] std::size_t depth(const Key& key) {
        refuse_in_child("depth");
        place at = find(key, true);
        const std::size_t waiting = at.found != nullptr ? at.found->waiting + at.found->dequeued : 0;
        unlock(at.guard, at.shard);
        return waiting;
    }

    [[nodiscard]] std::size_t active() {
        refuse_in_child("active");
        std::size_t sum = 0;
        use_shards([&sum](const lane_shard& s) { sum += s.table.size(); });
        return sum;
    }

    [[nodiscard]] lanes_metrics<Key> metrics() {
        refuse_in_child("metrics");
        lanes_metrics<Key> sum;
        use_shards([&sum](const lane_shard& s) {
            sum.active += s.table.size();
            sum.posted += s.posted;
            sum.run += s.run;
            sum.dropped += s.dropped;
            sum.rejected += s.rejected;
            sum.beyond += s.beyond;
            sum.memory += s.table.footprint() + (s.table.size() + s.unused_count) * entry_bytes;
        });
        sum.delays = delays_.all();
        return sum;
    }

    std::size_t close(const Key& key) {
        refuse_in_child("close");
        place at = find(key, true);
        return lanes_state::close(std::move(at.guard), at.shard, at.found);
    }

    [[nodiscard]] bool wait_idle(const Key& key, const wait_limit& limit) {
        refuse_in_child("wait_idle");
        place at = find(key, true);
        return lanes_state::wait_idle(std::move(at.guard), at.shard, at.found, limit);
    }

    /// Returns a hash in which each bit depends on all bits of the result of `Hash`. Mixing is necessary
    /// because the result of `Hash` may be the key itself. Modeled on the finalizer Mix13 of Stafford.
    [[nodiscard]] std::uint64_t hash(const Key& key) const noexcept {
        std::uint64_t h = hash_(key);
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9U;
        h = (h ^ (h >> 27)) * 0x94d049bb133111ebU;
        return h ^ (h >> 31);
    }

private:
    static constexpr std::size_t most_keys = 1024; // each key of a running request needs space on the stack

    struct with_key : keyed_task {
        with_key(task::function answer, std::uint64_t mixed, const Key& k)
            : keyed_task(answer, mixed), key(k) {}
        Key key;
    };

    /// The task of a function, together with the key of the function. If the function has up to 32 bytes and
    /// the key has one word, the task fits into one cache line.
    template <class F>
    struct keyed final : with_key {
        template <class G>
        keyed(const Key& k, std::uint64_t mixed, G&& g)
            : with_key(&answer, mixed, k), f(std::forward<G>(g)) {}

        static const char* answer(task* base, task_request request) {
            if (request == task_request::describe) return type_description<F>();
            auto* const self = static_cast<keyed*>(base);
            if (request == task_request::abandon) {
                recycler::destroy(self);
            } else {
                // The function is moved, so that the call can reuse the memory of the task.
                F own(std::move(self->f));
                recycler::destroy(self);
                static_cast<void>(own());
            }
            return nullptr;
        }

        F f;
    };

    using delay = typename lanes_metrics<Key>::delay;

    struct entry final : lane {
        entry(Key&& moved, std::uint32_t of_key) noexcept : lane(of_key), key(std::move(moved)) {}
        Key key;
    };
    static constexpr std::size_t entry_bytes =
        recycler::holds<entry> ? std::size_t{64} << recycler::size_class(sizeof(entry)) : sizeof(entry);

    /// A pointer to a lane, or null, together with its shard and the owned lock of the shard.
    struct place {
        lane_shard& shard;
        lanes_state::lock guard;
        lane* found;
    };

    static const Key& key_of(const lane& of) noexcept { return static_cast<const entry&>(of).key; }

    template <class F>
    [[nodiscard]] keyed_task* make_keyed(const Key& key, std::uint64_t hashed, F&& f, const char* where) {
        using callable = std::decay_t<F>;
        refuse_in_child(where);
        refuse_empty<callable>(f, where);
        if constexpr (std::is_nothrow_move_constructible_v<callable>)
            return recycler::create<keyed<callable>>(key, hashed, std::forward<F>(f));
        else
            return make_keyed(key, hashed, owned_task(make_task(std::forward<F>(f))), where);
    }
    [[nodiscard]] static lane* lane_at(lane_shard& s, const Key& key, std::uint32_t hashed) {
        return s.table.find(hashed, [&key](const lane& l) { return key_of(l) == key; });
    }
    /// Finds the lane of a key. If `sorts` is true, find() first moves the tasks that were posted earlier to
    /// their lanes. In this case, the caller must release the lock with unlock().
    [[nodiscard]] place find(const Key& key, bool sorts) {
        const std::uint64_t hashed = hash(key);
        lane_shard& s = shard_of(hashed);
        lanes_state::lock guard(s.lock);
        if (sorts) sort_all(s);
        return {s, std::move(guard), lane_at(s, key, static_cast<std::uint32_t>(hashed))};
    }

    // ---- for lanes_state

    static bool schedule(lanes_state& self, task* drain, task_order order) {
        const Executor copied = static_cast<state&>(self).inner; // the drain may destroy `self`
        return accept_task(copied, drain, order);
    }
    static lane* lane_of(lane_shard& s, keyed_task& given) noexcept {
        // The task destroys its key later, without the lock, even if the key has been moved from.
        Key& key = lane_claim::of(given) != nullptr ? static_cast<lane_claim_of<Key>&>(given).key
                                                    : static_cast<with_key&>(given).key;
        if (lane* const found = lane_at(s, key, given.hash)) return found;
        try {
            entry* fresh = nullptr;
            if (s.unused != nullptr) {
                fresh = static_cast<entry*>(std::exchange(s.unused, s.unused->chain));
                --s.unused_count;
                std::destroy_at(fresh);
                std::construct_at(fresh, std::move(key), given.hash);
            } else {
                fresh = recycler::create<entry>(std::move(key), given.hash);
            }
            s.table.insert(*fresh);
            return fresh;
        } catch (...) {
            s.left.failure = std::current_exception();
            return nullptr;
        }
    }
    static void end_lane(lane& of) noexcept { recycler::destroy(static_cast<entry*>(&of)); }
    static void report(lanes_state& self) noexcept {
        report_unhandled(static_cast<state&>(self).inner, type_description<lanes>());
    }
    static void note_delay(lanes_state& self, const lane& of, std::uint64_t ns) noexcept {
        auto& own = static_cast<state&>(self);
        try {
            if constexpr (lanes_metrics<Key>::keeps_keys)
                own.delays_.note({key_of(of), ns});
            else
                own.delays_.note({own.hash_(key_of(of)), ns});
        } catch (...) { // there is no memory, so this delay is omitted
        }
    }
    static void end(lanes_state& self) noexcept { delete static_cast<state*>(&self); }
    static constexpr operations table{
        &schedule, &lane_of, &end_lane, std::is_trivially_destructible_v<Key>, &report, &note_delay, &end};

    [[no_unique_address]] Hash hash_;
    longest_delays<delay> delays_;
};

/// A handle of one lane, with the operations of task_sink. Two handles are equal if they have the same key
/// and belong to the same lanes. If the key has the size of one word, a handle has the size of two words.
///
/// Thread safety: several threads may use one handle at the same time. Assignment and destruction need
/// exclusive access to the handle.
template <class Key, class Executor, class Hash>
class lanes<Key, Executor, Hash>::executor_type : public task_sink<executor_type> {
public:
    executor_type(const executor_type& other) noexcept
        : task_sink<executor_type>(other), state_(other.state_), key_(other.key_) {
        if (state_ != nullptr) state_->add_handle();
    }
    /// Moves the handle. Afterwards, `other` may only be destroyed or assigned to.
    executor_type(executor_type&& other) noexcept
        : task_sink<executor_type>(other), state_(std::exchange(other.state_, nullptr)), key_(other.key_) {}
    executor_type& operator=(executor_type other) noexcept {
        std::destroy_at(this);
        return *std::construct_at(this, std::move(other));
    }
    ~executor_type() {
        if (state_ != nullptr) state_->drop_handle();
    }

    /// Returns the key of the lane.
    [[nodiscard]] const Key& key() const noexcept { return unboxed(key_); }
    [[nodiscard]] Executor get_inner_executor() const noexcept { return state_->inner; }
    [[nodiscard]] decltype(auto) context() const noexcept { return state_->inner.context(); }
    void on_work_started() const noexcept { state_->inner.on_work_started(); }
    void on_work_finished() const noexcept { state_->inner.on_work_finished(); }
    [[nodiscard]] bool running_in_this_thread() const noexcept { return state_->is_inside(key(), false); }

    friend bool operator==(const executor_type& a, const executor_type& b) noexcept {
        return a.state_ == b.state_ && a.key() == b.key();
    }

    /// Returns true, because the functions of a lane run one after the other.
    [[nodiscard]] static constexpr bool runs_one_at_a_time() noexcept { return true; }
    void report_unhandled(const char* type) const noexcept { ekiden::report_unhandled(state_->inner, type); }

private:
    friend class lanes;
    friend struct detail::sink_access;
    bool accept(task* given, task_order order) const {
        const auto kept = key_; // once queued, the task may destroy this handle
        return state_->accept(unboxed(kept), given, order);
    }
    [[nodiscard]] task* continue_with(task* given) const {
        if (running_in_this_thread()) return given;
        const auto kept = key_;
        state_->dispatch(unboxed(kept), owned_task(given));
        return nullptr;
    }

    // The copy constructor of an executor must not throw. A key whose copy constructor may throw is stored
    // outside of the handle.
    static constexpr bool key_lies_inside = std::is_nothrow_copy_constructible_v<Key>;
    using stored = std::conditional_t<key_lies_inside, Key, std::shared_ptr<const Key>>;

    executor_type(state& of, const Key& key) : state_(&of), key_(boxed(key)) { of.add_handle(); }

    static stored boxed(const Key& key) {
        if constexpr (key_lies_inside)
            return key;
        else
            return std::make_shared<const Key>(key);
    }
    static const Key& unboxed(const stored& kept) noexcept {
        if constexpr (key_lies_inside)
            return kept;
        else
            return *kept;
    }

    state* state_;
    stored key_;
};

template <class Key, class Executor, class Hash>
auto lanes<Key, Executor, Hash>::get_executor(const Key& key) const -> executor_type {
    return executor_type(*state_, key);
}

} // namespace ekiden::inline EKIDEN_ABI
