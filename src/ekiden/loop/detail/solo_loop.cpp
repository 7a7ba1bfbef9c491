#include <ekiden/loop/detail/solo_loop.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/detail/run_task.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <optional>

namespace ekiden::inline EKIDEN_ABI {

namespace {

// After 50 us of tasks, a busy thread runs events for at most 50 us. The thread does not poll more often,
// because one poll of the system costs as much as ten small tasks.
constexpr std::uint64_t events_every_ns = 50'000;
constexpr unsigned most_events = 64;

} // namespace

// The thread of the loop is the consumer of the queue except while it sleeps. This is also true while no
// thread is inside run().
solo_loop::solo_loop(context_id context) noexcept : context_(context), generation_(sys::fork_generation()) {
    (void)queue_.try_begin();
}

/// A scope in which the calling thread is inside run().
class solo_loop::run_scope {
public:
    explicit run_scope(solo_loop& loop) noexcept : loop_(loop), role_(loop.context_), scope_(role_) {
        if (role_.outer() != nullptr)
            loop_.work_started(); // counts the task that has called this run()
        else
            // Acquire: sees what the last thread inside run() has done. Pairs with the release in the
            // destructor.
            sys::expects(loop_.inside_.exchange(1, sys::acquire) == 0,
                         "two threads at once run a loop_context with the concurrency hint 1");
    }
    ~run_scope() {
        if (role_.outer() != nullptr)
            loop_.work_finished();
        else
            loop_.inside_.store(0, sys::release);
    }
    run_scope(const run_scope&) = delete;
    run_scope& operator=(const run_scope&) = delete;

private:
    solo_loop& loop_;
    loop_role role_;
    const role_scope scope_;
    const hidden_scopes strands_; // tasks of this run() are outside of the surrounding strands
};

/// A wait of the thread in the event source, instead of a sleep on the word.
class solo_loop::external_wait final : public event_wait {
public:
    external_wait(solo_loop& loop, const loop_request& request) noexcept : loop_(loop), request_(request) {}
    external_wait(const external_wait&) = delete;
    external_wait& operator=(const external_wait&) = delete;

    [[nodiscard]] bool is_wanted() noexcept override {
        expect_no_child(loop_.generation_); // one of the handlers may have called fork()
        return !loop_.is_drained() || (loop_.word_.load(sys::relaxed) & (work | look | stopped)) != 0
               || loop_.alarms_.is_due() || request_.is_over();
    }
    [[nodiscard]] bool begin(sys::clock::time_point& until) noexcept override {
        expect_no_child(loop_.generation_);
        until = request_.until(loop_.alarms_);
        if (loop_.alarms_.is_due() || request_.is_over() || !loop_.try_rest()) return false;
        recycler::flush();
        std::uint32_t now = loop_.go_to_rest(outside);
        if (loop_.is_needed(now)) {
            loop_.get_up();
            return false;
        }
        waiting_.emplace("work of a loop"); // tells the thread's other contexts that it blocks
        return true;
    }
    void end() noexcept override {
        waiting_.reset();
        loop_.get_up();
    }

private:
    solo_loop& loop_;
    const loop_request& request_;
    std::optional<blocked_here> waiting_;
};

std::size_t solo_loop::run(const loop_request& request) {
    const run_scope here(*this);
    std::size_t count = 0;
    while (count != request.most && !request.is_over()) {
        alarms_.ring_if_due();
        task* const found = next(request, count);
        if (found == nullptr) break;
        ++count;
        running_type_ = found->type();
        run_task(*found);
        expect_no_child(generation_);
    }
    // The context stops when its last task has run, even in run_one().
    if (is_drained() && !has_work_elsewhere() && !is_stopped()) (void)rest({.waits = false});
    return count;
}

/// Returns the next task. Returns null if the loop has stopped, or if the limit is reached. Also returns null
/// if no task is queued and the request does not wait. Runs events meanwhile, and counts them as tasks.
task* solo_loop::next(const loop_request& request, std::size_t& count) {
    for (;;) {
        if (is_stopped()) return nullptr;
        if (source_.load(sys::relaxed) != nullptr && sys::now_ns() - last_events_ns_ > events_every_ns) {
            run_events(request, count);
            if (count == request.most || request.is_over()) return nullptr;
            continue;
        }
        if (task* const found = take()) return found;
        if ((word_.load(sys::relaxed) & look) != 0) word_.fetch_and(~look, sys::acquire); // [LP1]
        if (alarms_.ring_if_due()) continue;
        if (!is_drained()) {
            sys::yield(); // a push is not complete
            continue;
        }
        // The event source is read after `look` has been cleared, because `look` announces a new event
        // source.
        if (event_source* const source = source_.load(sys::acquire); source != nullptr) { // [LP4]
            external_wait out(*this, request);
            const std::size_t ran = run_source(*source, request.left(count), request.waits ? &out : nullptr);
            count += ran;
            last_events_ns_ = sys::now_ns();
            if (count == request.most || request.is_over()) return nullptr;
            if (ran != 0 || request.waits) continue;
        } else if (request.waits && has_work_elsewhere()) {
            if (task* const found = spin()) return found;
        }
        if (rest(request) && !request.waits && is_drained()) return nullptr;
        if (request.is_over()) return nullptr;
    }
}

/// Spins until there is a task. Does not spin if the last spin found no task and no task has ended a sleep
/// since then. So a thread that runs only timers does not spin.
task* solo_loop::spin() noexcept {
    if (!is_spin_worth_ || alarms_.is_near()) return nullptr;
    task* found = nullptr;
    is_spin_worth_ = sys::spin_until([&] {
        found = queue_.take();
        return found != nullptr || !queue_.is_drained() || (word_.load(sys::relaxed) & (look | stopped)) != 0;
    });
    return found;
}

void solo_loop::abandon_all() noexcept {
    for (;;) {
        if (task* const found = take())
            found->abandon();
        else if (queue_.is_drained())
            return;
        else
            sys::yield(); // a push is not complete
    }
}

// ---- events

bool solo_loop::reserve_source(const void* kind) noexcept {
    const void* before = nullptr;
    return kind_of_source_.compare_exchange_strong(before, kind, sys::relaxed, sys::relaxed)
           || before == kind;
}

void solo_loop::adopt(event_source& source) noexcept {
    source_.store(&source, sys::release); // [LP4] Release: publishes the event source
    look_again();                         // a sleeping thread must wait in the event source instead
}

std::size_t solo_loop::run_source(event_source& source, std::size_t most, event_wait* wait) {
    running_type_ = [](task*, task_request) { return type_description<event_source>(); };
    const std::size_t ran = source.run(most, wait);
    expect_no_child(generation_);
    return ran;
}

/// Runs pending events between two tasks of a busy thread. Takes no longer than the tasks since the last
/// events.
void solo_loop::run_events(const loop_request& request, std::size_t& count) {
    event_source& source = *source_.load(sys::acquire); // [LP4]
    const std::uint64_t begin = sys::now_ns();
    last_events_ns_ = begin;
    for (unsigned i = 0; i != most_events && count != request.most && !is_stopped(); ++i) {
        if (run_source(source, 1, nullptr) == 0) return;
        ++count;
        last_events_ns_ = sys::now_ns();
        if (last_events_ns_ - begin > events_every_ns) return;
    }
}

// ---- steps of the word

/// Changes the word to the value that `after` returns. Also updates the count of the pool. The loop is
/// counted before it becomes busy, and until it has become quiet. Returns the word before the change. The
/// loop may be destroyed as soon as the word has changed. The pool may be destroyed as soon as it does not
/// count this loop.
///
/// Release and acquire: each change passes on what earlier changes have released. The comments of the callers
/// contain the labels.
template <class After>
std::uint32_t solo_loop::change(After after) noexcept {
    busy_loops* const pool = pool_;
    bool has_added = false;
    std::uint32_t before = word_.load(sys::relaxed);
    std::uint32_t now = 0;
    do {
        now = after(before);
        if (pool != nullptr && !has_added && is_quiet(before) && !is_quiet(now)
            && !EKIDEN_MUTANT(solo_is_counted_late)) {
            has_added = true;
            pool->add();
        }
    } while (!word_.compare_exchange_strong(before, now, sys::acq_rel, sys::relaxed));
    if (pool == nullptr) return before;
    if (EKIDEN_MUTANT(solo_is_counted_late) && is_quiet(before) && !is_quiet(now)) pool->add();
    const int counted = (is_quiet(before) ? 0 : 1) + (has_added ? 1 : 0);
    for (int left = counted - (is_quiet(now) ? 0 : 1); left > 0; --left) pool->remove();
    return before;
}

// [LP1] [LP2] Release: publishes what this thread has done, such as its push. [LP3] Acquire: the event source
// is visible.
void solo_loop::ring(std::uint32_t why) noexcept {
    bool calls = false;
    const std::uint32_t before = change([&](std::uint32_t now) {
        calls = must_call(now); // if true, the thread of the loop waits until rouse() clears `called`
        return now | why | (calls ? called : 0);
    });
    rouse(before, calls);
}

/// Wakes the thread of the loop after a change of the word from `before`. If this thread has not set
/// `called`, uses only the address of the word.
void solo_loop::rouse(std::uint32_t before, bool calls) noexcept {
    if (EKIDEN_MUTANT(solo_rings_in_silence)) return;
    if (calls) {
        source_.load(sys::relaxed)->interrupt(); // [LP3] change() has acquired it
        word_.fetch_and(~called, sys::release);  // [LP5] Release: pairs with the acquire in get_up()
    }
    if ((before & asleep) != 0) sys::futex_wake(word_);
}

// [LQ2] Release: publishes that the loop has been counted.
void solo_loop::work_started() noexcept {
    (void)change([](std::uint32_t now) { return now + one_work; });
}

// [LP1] [LQ2] Release: publishes what the caller has done, and which loops the caller has counted. [LP3]
// Acquire: the event source is visible.
void solo_loop::work_finished() noexcept {
    const bool may_stop = pool_ == nullptr; // a loop of a pool does not stop for lack of work
    bool was_last = false;
    bool calls = false;
    const std::uint32_t before = change([&](std::uint32_t now) {
        sys::expects(now >= one_work, "on_work_finished() is called more often than on_work_started()");
        was_last = now < 2 * one_work && may_stop && !EKIDEN_MUTANT(solo_work_ends_in_silence);
        calls = was_last && must_call(now);
        return (now - one_work) | (calls ? called : 0);
    });
    if (was_last) rouse(before, calls);
}

void solo_loop::leave_pool() noexcept {
    (void)change([](std::uint32_t now) { return now | ended; });
}

// ---- sleep

/// Stops the context if no work is outstanding. Otherwise, if the request waits, sleeps until there may be
/// something to do. Returns false if a task is queued.
bool solo_loop::rest(const loop_request& request) noexcept {
    if (!try_rest()) return false;
    recycler::flush();
    const sys::clock::time_point until = request.until(alarms_);
    // The accesses are relaxed until get_up(). All changes of the word are read-modify-writes. So the last
    // change acquires what all earlier changes have released.
    std::uint32_t now = go_to_rest(asleep);
    while (!is_needed(now) && request.waits) {
        const blocked_here waiting("work of a loop"); // tells the thread's other contexts that it blocks
        const trace::detail::interval parked(trace::kind::parked, "parked", 0);
        if (until == sys::clock::time_point::max())
            sys::futex_wait(word_, now);
        else if (!sys::futex_wait_until(word_, now, until))
            break;
        now = word_.load(sys::relaxed);
    }
    get_up();
    return true;
}

/// Sets `how`, which is asleep or outside. Returns the word after this change.
// [LP3] Release: publishes the event source. [LQ2] Acquire: sees which other loops a thread has counted
// before its outstanding work ended.
std::uint32_t solo_loop::go_to_rest(std::uint32_t how) noexcept {
    return change([how](std::uint32_t now) { return now | how; }) | how;
}

/// Returns whether the thread, which has set asleep or outside, must not sleep. Stops the context if no work
/// is outstanding. `now` is the value of the word, which the call updates.
bool solo_loop::is_needed(std::uint32_t& now) noexcept {
    while ((now & (work | look | stopped)) == 0) {
        if (now >= one_work || pool_ != nullptr) return false;
        // A push that has found no consumer has set `work` already, or its call has not returned yet.
        if (word_.compare_exchange_strong(now, now | stopped, sys::relaxed, sys::relaxed)) {
            has_run_dry_.store(true, sys::relaxed);
            return true;
        }
    }
    return true;
}

/// Makes the thread of the loop the consumer again.
// [LP1] [LP2] [LP5] Acquire: sees what the thread of a stop, a push or an interruption has done.
void solo_loop::get_up() noexcept {
    if (!queue_.try_begin()) {
        // A push has found no consumer. The pushing thread sets `work`, and does not use the loop afterwards.
        // The loop must not be destroyed before `work` is set.
        while ((word_.load(sys::relaxed) & work) == 0 && !EKIDEN_MUTANT(solo_takes_over_early)) sys::yield();
        is_spin_worth_ = true;
    }
    (void)change([this](std::uint32_t& now) {
        while ((now & called) != 0 && !EKIDEN_MUTANT(solo_leaves_its_caller)) {
            sys::yield(); // until the interruption is over
            now = word_.load(sys::relaxed);
        }
        return now & ~(asleep | outside | work | look);
    });
}

} // namespace ekiden::inline EKIDEN_ABI
