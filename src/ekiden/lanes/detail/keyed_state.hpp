/// The part of lanes that depends on the types of key and executor.
///
/// Part: lanes. Used by: lanes.
#pragma once

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/lanes/detail/lane_request.hpp>
#include <ekiden/lanes/detail/lanes_state.hpp>
#include <ekiden/lanes/detail/longest_delays.hpp>
#include <ekiden/lanes/lanes_options.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

template <class Key, class Executor, class Hash>
class lanes;

/// The state that the lanes and their executors share.
template <class Key, class Executor, class Hash>
class keyed_state final : public lanes_state {
public:
    keyed_state(const Executor& chosen, const lanes_options& how, const Hash& hash)
        : lanes_state(how, table, chosen.context()), inner(chosen), hash_(hash) {}
    ~keyed_state() { end_unused(); }

    const Executor inner;

    // In the following functions, `Which` is Key or known_lane.

    /// Posts a function to a lane.
    template <class Which, class F>
    bool give(const Which& to, F&& f, const char* where, task_order order) {
        if (takes_no_more()) [[unlikely]] // in this case, the inner executor refuses the task
            return ekiden::accept_task(Executor(inner), ekiden::make_task(std::forward<F>(f), where), order);
        const made task = make(to, std::forward<F>(f), where);
        return enqueue(task.shard, task.given, order);
    }

    /// Posts a request with several keys.
    template <class F>
    bool give(short_list<listed_key<Key>>& keys, F&& f, const char* where, task_order order) {
        const std::size_t count = keys.size();
        if (count == 0 || takes_no_more())
            return ekiden::accept_task(Executor(inner), ekiden::make_task(std::forward<F>(f), where), order);
        expect_key_count(count, where);
        const listed_key<Key>& first = *keys.begin();
        if (count == 1 && !first.is_shared) {
            if (first.where == nullptr) return give(*first.key, std::forward<F>(f), where, order);
            return give(known_lane{first.shard, first.where}, std::forward<F>(f), where, order);
        }
        refuse_in_child(where);
        ekiden::refuse_empty<std::decay_t<F>>(f, where);
        sort_by_shard(keys);
        using request = lane_request_of<Key, std::decay_t<F>>;
        return enqueue(request::make({keys.begin(), count}, std::forward<F>(f)), order);
    }

    /// Makes the record of a turn. The caller must call turn_record::leave().
    [[nodiscard]] turn_record& make_turn(short_list<listed_key<Key>>& keys, const char* where) {
        refuse_in_child(where);
        expect_key_count(keys.size(), where);
        sort_by_shard(keys);
        return lane_request_of<Key, turn_record>::make({keys.begin(), keys.size()}, *this).record();
    }

    /// Passes a task to a lane, like accept() of an executor.
    bool accept(const Key& key, task* given, task_order order) {
        return give(key, owned_task(given), "post", order);
    }

    /// Calls a function at once if the function may run on this thread and the lane is idle. Otherwise posts
    /// the function.
    template <class Which, class F>
    void dispatch(const Which& to, F&& f) {
        if (takes_no_more() || !ekiden::calls_in_place(inner))
            return static_cast<void>(give(to, std::forward<F>(f), "dispatch", task_order::usual));
        const made task = make(to, std::forward<F>(f), "dispatch");
        if (!runs_here(task.shard, task.given)) (void)enqueue(task.shard, task.given, task_order::usual);
    }

    /// Returns whether the caller is inside a function that shares the lane, or has the lane alone.
    [[nodiscard]] bool is_inside(const Key& key, bool is_shared) {
        if (thread_record::here().serial == nullptr || is_in_child()) return false;
        const place at = find(key, false);
        return at.found != nullptr && serial_scope::is_inside(scope_of(*at.found, is_shared));
    }
    [[nodiscard]] bool is_inside(const listed_key<Key>& of, bool is_shared) {
        return of.where != nullptr ? is_inside(known_lane{of.shard, of.where}, is_shared)
                                   : is_inside(*of.key, is_shared);
    }
    [[nodiscard]] bool is_inside(const known_lane& of, bool is_shared) const {
        return serial_scope::is_inside(scope_of(*of.where, is_shared)) && !is_in_child();
    }

    template <class Which>
    [[nodiscard]] std::size_t depth(const Which& of) {
        refuse_in_child("depth");
        place at = find(of, true);
        const std::size_t waiting = at.found != nullptr ? at.found->waiting + at.found->dequeued() : 0;
        unlock(at.guard, at.shard);
        return waiting;
    }

    [[nodiscard]] std::size_t active() {
        refuse_in_child("active");
        std::size_t sum = 0;
        use_shards([&sum](const lane_shard& s) { sum += s.table.size() - s.resting; });
        return sum;
    }

    [[nodiscard]] lanes_metrics<Key> metrics() {
        refuse_in_child("metrics");
        lanes_metrics<Key> sum;
        use_shards([&sum](const lane_shard& s) {
            sum.active += s.table.size() - s.resting;
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

    template <class Which>
    std::size_t close(const Which& of) {
        refuse_in_child("close");
        place at = find(of, true);
        return lanes_state::close(std::move(at.guard), at.shard, at.found);
    }

    template <class Which>
    [[nodiscard]] bool wait_idle(const Which& of, const wait_limit& limit) {
        refuse_in_child("wait_idle");
        place at = find(of, true);
        return lanes_state::wait_idle(std::move(at.guard), at.shard, at.found, limit);
    }

    /// Adds a handle to the lane of a key. Adds a lane if the key has none. Throws std::bad_alloc, and
    /// whatever the copy constructor of the key throws.
    [[nodiscard]] known_lane lane_with_handle(const Key& key) {
        refuse_in_child("lane");
        const std::uint64_t hashed = hash(key);
        lane_shard& s = shard_of(hashed);
        Key own(key); // copied and destroyed without the lock
        const lanes_state::lock guard(s.lock);
        lane* const found = lane_of_key(s, own, hashed & lane_hash_mask);
        if (found == nullptr) std::rethrow_exception(std::exchange(s.left.failure, nullptr));
        add_lane_handle(s, *found);
        return {&s, found};
    }

    static const Key& key_of(const lane& of) noexcept { return static_cast<const entry&>(of).key; }

    /// Returns a hash in which each bit depends on all bits of the result of `Hash`. Mixing is necessary
    /// because the result of `Hash` may be the key itself. Modeled on the finalizer Mix13 of Stafford.
    [[nodiscard]] std::uint64_t hash(const Key& key) const noexcept {
        std::uint64_t h = hash_(key);
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9U;
        h = (h ^ (h >> 27)) * 0x94d049bb133111ebU;
        return h ^ (h >> 31);
    }

private:
    struct with_key : keyed_task {
        with_key(task::function answer, std::uint64_t mixed, const Key& k)
            : keyed_task(answer, mixed), key(k) {}
        Key key;
    };

    /// The task of a function, together with the key or the lane of the function. If the function has up to
    /// 32 bytes and the key has one word, the task fits into one cache line.
    template <class Base, class F>
    struct keyed final : Base {
        template <class G, class... Which>
        explicit keyed(G&& g, Which&... which) : Base(&answer, which...), f(std::forward<G>(g)) {}

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
        entry(Key&& moved, lane_hash of_key) noexcept : lane(of_key), key(std::move(moved)) {}
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

    static void sort_by_shard(short_list<listed_key<Key>>& keys) noexcept {
        const auto is_before = [](const auto& a, const auto& b) { return std::less<>()(a.shard, b.shard); };
        if (keys.size() > 2)
            std::sort(keys.begin(), keys.end(), is_before);
        else if (keys.size() == 2 && is_before(keys.back(), *keys.begin()))
            std::swap(keys.back(), *keys.begin());
    }
    /// A task, and the shard of its lane.
    struct made {
        lane_shard& shard;
        keyed_task* given;
    };

    template <class F>
    [[nodiscard]] made make(const Key& key, F&& f, const char* where) {
        const std::uint64_t hashed = hash(key);
        return {shard_of(hashed), make_keyed<with_key>(std::forward<F>(f), where, hashed, key)};
    }
    template <class F>
    [[nodiscard]] made make(const known_lane& of, F&& f, const char* where) {
        return {*of.shard, make_keyed<lane_task>(std::forward<F>(f), where, *of.where)};
    }
    template <class Base, class F, class... Which>
    [[nodiscard]] keyed_task* make_keyed(F&& f, const char* where, Which&... which) {
        using callable = std::decay_t<F>;
        refuse_in_child(where);
        ekiden::refuse_empty<callable>(f, where);
        if constexpr (std::is_nothrow_move_constructible_v<callable>)
            return recycler::create<keyed<Base, callable>>(std::forward<F>(f), which...);
        else
            return make_keyed<Base>(owned_task(ekiden::make_task(std::forward<F>(f))), where, which...);
    }
    [[nodiscard]] static lane* lane_at(lane_shard& s, const Key& key, lane_hash hashed) {
        return s.table.find(hashed, [&key](const lane& l) { return key_of(l) == key; });
    }
    /// Finds the lane of a key. If `sorts` is true, find() first moves the tasks that were posted earlier to
    /// their lanes. In this case, the caller must release the lock with unlock().
    [[nodiscard]] place find(const Key& key, bool sorts) {
        const std::uint64_t hashed = hash(key);
        lane_shard& s = shard_of(hashed);
        lanes_state::lock guard(s.lock);
        if (sorts) sort_all(s);
        return {s, std::move(guard), lane_at(s, key, hashed & lane_hash_mask)};
    }
    [[nodiscard]] place find(const known_lane& of, bool sorts) {
        lanes_state::lock guard(of.shard->lock);
        if (sorts) sort_all(*of.shard);
        return {*of.shard, std::move(guard), of.where};
    }

    // ---- for lanes_state

    static bool schedule(lanes_state& self, task* drain, task_order order) {
        const Executor copied = static_cast<keyed_state&>(self).inner; // the drain may destroy `self`
        return ekiden::accept_task(copied, drain, order);
    }
    static void work_started(lanes_state& self) noexcept {
        static_cast<keyed_state&>(self).inner.on_work_started();
    }
    static void work_finished(lanes_state& self) noexcept {
        static_cast<keyed_state&>(self).inner.on_work_finished();
    }
    static lane* lane_of(lane_shard& s, keyed_task& given) noexcept {
        // The task destroys its key later, without the lock, even if the key has been moved from.
        Key& key = lane_claim::of(given) != nullptr ? static_cast<lane_claim_of<Key>&>(given).key
                                                    : static_cast<with_key&>(given).key;
        return lane_of_key(s, key, given.hash);
    }
    /// Returns the lane of a key. Adds a lane if the key has none, like operations::lane_of.
    static lane* lane_of_key(lane_shard& s, Key& key, lane_hash hashed) noexcept {
        if (lane* const found = lane_at(s, key, hashed)) return found;
        try {
            entry* fresh = nullptr;
            if (s.unused != nullptr) {
                fresh = static_cast<entry*>(std::exchange(s.unused, s.unused->chain));
                --s.unused_count;
                std::destroy_at(fresh);
                std::construct_at(fresh, std::move(key), hashed);
            } else {
                fresh = recycler::create<entry>(std::move(key), hashed);
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
        ekiden::report_unhandled(static_cast<keyed_state&>(self).inner,
                                 type_description<lanes<Key, Executor, Hash>>());
    }
    static void note_delay(lanes_state& self, const lane& of, std::uint64_t ns) noexcept {
        auto& own = static_cast<keyed_state&>(self);
        try {
            if constexpr (lanes_metrics<Key>::keeps_keys)
                own.delays_.note({key_of(of), ns});
            else
                own.delays_.note({own.hash_(key_of(of)), ns});
        } catch (...) { // there is no memory, so this delay is omitted
        }
    }
    static void end(lanes_state& self) noexcept { delete static_cast<keyed_state*>(&self); }
    static constexpr operations table{&schedule, &work_started, &work_finished,
                                      &lane_of,  &end_lane,     std::is_trivially_destructible_v<Key>,
                                      &report,   &note_delay,   &end};

    [[no_unique_address]] Hash hash_;
    longest_delays<delay> delays_;
};

} // namespace ekiden::inline EKIDEN_ABI
