/// The contexts and places of one program while it runs, and how they begin and end.
#pragma once

#include "account.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

namespace seams {

/// A key whose last copy may post when it is destroyed.
struct key_owner {
    world* in;
    place_slot* place;
    key_owner(world& w, place_slot* p) noexcept;
    key_owner(const key_owner&) = delete;
    key_owner& operator=(const key_owner&) = delete;
    ~key_owner();
};
struct lane_key {
    int number = 0;
    std::shared_ptr<key_owner> owner;
    friend bool operator==(const lane_key& a, const lane_key& b) noexcept { return a.number == b.number; }
};
struct hash_of_key {
    std::size_t operator()(const lane_key& k) const noexcept { return static_cast<std::size_t>(k.number); }
};
using lanes_type = ekiden::lanes<lane_key, ekiden::any_executor, hash_of_key>;

/// An executor that throws each so many-th time.
class failing_executor : public ekiden::task_sink<failing_executor> {
public:
    failing_executor(ekiden::any_executor inner, std::atomic<unsigned>& count, unsigned each) noexcept
        : inner_(std::move(inner)), count_(&count), each_(each) {}
    [[nodiscard]] ekiden::execution_context& context() const noexcept { return inner_.context(); }
    void on_work_started() const noexcept { inner_.on_work_started(); }
    void on_work_finished() const noexcept { inner_.on_work_finished(); }
    friend bool operator==(const failing_executor& a, const failing_executor& b) noexcept {
        return a.count_ == b.count_;
    }
    [[nodiscard]] bool running_in_this_thread() const noexcept { return inner_.running_in_this_thread(); }
    bool accept(ekiden::task* given, ekiden::task_order order) const {
        if (is_due()) {
            given->abandon();
            throw executor_failed();
        }
        return ekiden::accept_task(inner_, given, order);
    }
    [[nodiscard]] ekiden::task* continue_with(ekiden::task* given) const {
        if (is_due()) {
            given->abandon();
            throw executor_failed();
        }
        return ekiden::continue_task(inner_, given);
    }
    void report_unhandled(const char* type) const noexcept { inner_.report_unhandled(type); }

private:
    [[nodiscard]] bool is_due() const noexcept {
        return (count_->fetch_add(1, std::memory_order_relaxed) + 1) % each_ == 0;
    }
    ekiden::any_executor inner_;
    std::atomic<unsigned>* count_;
    unsigned each_;
};

struct context_slot {
    context_slot(world& w, const context_plan& p);

    world& in;
    const context_plan& of;
    ekiden::thread_pool* pool = nullptr; ///< its tasks use it while its destructor runs
    std::unique_ptr<ekiden::loop_context> loop;
    std::unique_ptr<ekiden::loop_pool> loops;
    std::unique_ptr<ekiden::sim_context> simulated;
    std::vector<std::optional<ekiden::executor_work_guard<ekiden::any_executor>>> guards;
    std::vector<std::thread> runners;

    // Threads that are not the context's own enter before they use it; its end waits for them.
    std::atomic<int> users{0};
    std::atomic<bool> is_closed{false};

    std::atomic<std::uint64_t> stop_begun{0}; ///< ticks
    std::atomic<std::uint64_t> stopped{0};
    std::atomic<std::uint64_t> end_begun{0};
    std::atomic<std::uint64_t> paused{0}; ///< since; 0: is not
    std::mutex pause_lock;
    bool is_ending = false; ///< under pause_lock
    std::atomic<bool> is_destroyed{false};
    bool has_quiesced = false;
    std::atomic<int> begun_after_stop{0};
    std::atomic<int> thrown{0};
    std::atomic<int> handled{0};
    std::atomic<int> told{0}; ///< failures of inner executors that the library has reported
    ekiden::mutex coroutines_lock;

    [[nodiscard]] ekiden::any_executor executor(unsigned thread) const;
    void stop() noexcept;
    void pause() noexcept;
    void resume() noexcept;
    /// Its threads end; it stays.
    void quiesce();
    void destroy();

private:
    void run_loop();
    /// What has left a function, or was reported as if it had.
    void count(const std::exception_ptr& failure) noexcept;
    std::unique_ptr<ekiden::thread_pool> owned_pool_;
};

struct group_slot {
    group_slot(world& w, const lanes_plan& p);

    const lanes_plan& of;
    context_slot& context;
    std::atomic<unsigned> executor_count{0};
    std::unique_ptr<lanes_type> lanes;
    ekiden::lanes_metrics<lane_key> last; ///< when the context had quiesced
};

struct place_slot {
    place_slot(world& w, const place_plan& p);

    world& in;
    const place_plan& of;
    context_slot& context;
    group_slot* group = nullptr;
    ekiden::any_executor executor;               ///< none when the context of a strand or lane has ended
    std::atomic<const void*> inside{nullptr};    ///< the thread, for strands and lanes
    std::atomic<int> readers{0};                 ///< requests that share the lane
    std::atomic<std::uint64_t> newest{0};        ///< the latest tick before a post whose callable has begun
    std::atomic<std::uint64_t> newest_shared{0}; ///< the same, for requests that share the lane
    std::array<std::atomic<std::uint64_t>, 2> newest_of_driver{};

    [[nodiscard]] bool is_serial() const noexcept { return of.what != place_plan::type::plain; }
    [[nodiscard]] bool is_blocking() const noexcept {
        return group != nullptr && group->of.policy == ekiden::when_full::block;
    }
    [[nodiscard]] lane_key key() const;
    /// Returns another key of the same lanes.
    [[nodiscard]] lane_key key(int number) const;
};

/// A key of a request.
struct key_use {
    int number = 0;
    bool is_shared = false;
    place_slot* place = nullptr; ///< the place of the key; null if there is none
};
/// Returns the keys of a function. Functions that are not requests have the key of their place.
[[nodiscard]] std::vector<key_use> keys_of(const record& r);

/// A result that must be there in the end.
struct pending {
    ekiden::future<int> result;
    record* of = nullptr;   ///< what it comes from; null: a coroutine
    record* then = nullptr; ///< the continuation
};

struct world {
    explicit world(const plan& p);
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    ~world();

    const plan& of;
    std::deque<context_slot> contexts;
    std::deque<group_slot> groups;
    std::deque<place_slot> places;
    std::vector<record> records;
    std::atomic<unsigned> records_used{0};
    std::atomic<std::uint64_t> ticks{1};
    std::mutex lock;
    std::vector<pending> futures;     // under lock
    std::vector<std::thread> helpers; // under lock
    std::atomic<int> frames{0};       ///< of coroutines
    std::atomic<int> keys{0};
    std::atomic<bool> drivers_ended{false};
    ekiden::mutex mutex;
    std::stop_source stop; ///< of some coroutines; never requested

    /// Relaxed: the accounts must not add an order that the library has to give.
    [[nodiscard]] std::uint64_t tick() noexcept { return ticks.fetch_add(1, std::memory_order_relaxed); }
    /// Null if there are too many.
    [[nodiscard]] record* make_record(const action& of, place_slot& where, kind how);
    std::vector<unsigned> end_order; ///< of contexts
    void run();
    void quiesce();
    void end();
};

/// What executes actions: a driver, a callable or a coroutine.
struct actor {
    world& in;
    place_slot* at = nullptr; ///< null: a driver
    int driver = -1;
    context_slot* home = nullptr; ///< of the coroutine's root
};

/// The right to use a context. Its own callables have it.
class entry {
public:
    entry(context_slot& to, const actor& by) noexcept
        : to_(by.at != nullptr && &by.at->context == &to ? nullptr : &to) {
        if (to_ == nullptr) return;
        to_->users.fetch_add(1);
        if (!to_->is_closed.load()) return;
        to_->users.fetch_sub(1);
        to_ = nullptr;
        is_in_ = false;
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() {
        if (to_ != nullptr) to_->users.fetch_sub(1);
    }
    [[nodiscard]] explicit operator bool() const noexcept { return is_in_; }

private:
    context_slot* to_;
    bool is_in_ = true;
};

/// actions.cpp: does what the actions say.
void act(const actor& who, std::span<const action> body);
/// Gives a callable of the record to its place, in the way that the record names.
bool deliver(const actor& who, record& r);
/// From a destructor that the library, or a caller inside of it, calls: never waits.
void post_from_destructor(world& in, const action& of, place_slot& where);
/// coroutines.cpp
void act_on_coroutines(const actor& who, const action& a);
/// special.cpp: what the library forbids, in processes of their own. False: there is none for this seed.
bool run_special(std::uint64_t seed);
/// simulated.cpp: the program in virtual time, in some schedules.
void run_simulated(const plan& p);

} // namespace seams
