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

// A busy thread runs events after 50 us of tasks, as a rule, and then for as long: a look at the system costs
// as much as ten small tasks.
constexpr std::uint64_t events_every_ns = 50'000;
constexpr unsigned most_events = 64;

} // namespace

// The thread is the queue's consumer always, but for its sleep: also while nobody is inside.
solo_loop::solo_loop(context_id context) noexcept : context_(context), generation_(sys::fork_generation()) {
    (void)queue_.try_begin();
}

/// The loop's part in the count of its pool, around one step of the word: the loop is counted before it
/// becomes busy, and until after it has become quiet. Does nothing for a loop of its own.
class solo_loop::account {
public:
    explicit account(busy_loops* pool) noexcept : pool_(pool) {}
    account(const account&) = delete;
    account& operator=(const account&) = delete;

    /// Before each attempt at the step.
    void prepare(std::uint32_t from, std::uint32_t to) noexcept {
        if (pool_ == nullptr || has_added_ || !is_quiet(from) || is_quiet(to)
            || EKIDEN_MUTANT(solo_is_counted_late)) {
            return;
        }
        has_added_ = true;
        pool_->add();
    }
    /// After the step. Touches the pool only if that still counts what this removes.
    void settle(std::uint32_t from, std::uint32_t to) noexcept {
        if (pool_ == nullptr) return;
        if (EKIDEN_MUTANT(solo_is_counted_late) && is_quiet(from) && !is_quiet(to)) return pool_->add();
        const int counted = (is_quiet(from) ? 0 : 1) + (has_added_ ? 1 : 0);
        for (int left = counted - (is_quiet(to) ? 0 : 1); left > 0; --left) pool_->remove();
    }

private:
    busy_loops* const pool_;
    bool has_added_ = false;
};

/// The calling thread is inside run().
class solo_loop::visit {
public:
    explicit visit(solo_loop& loop) noexcept : loop_(loop), role_(loop.context_), scope_(role_) {
        if (role_.outer() != nullptr)
            loop_.work_started(); // the task that has called this
        else
            // acquire: what the thread has left that was inside before; pairs with the release below.
            sys::expects(loop_.inside_.exchange(1, sys::acquire) == 0,
                         "two threads at once run a loop_context with the concurrency hint 1");
    }
    ~visit() {
        if (role_.outer() != nullptr)
            loop_.work_finished();
        else
            loop_.inside_.store(0, sys::release);
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

private:
    solo_loop& loop_;
    loop_role role_;
    const role_scope scope_;
    const hidden_scopes strands_; // around this run: its tasks are outside of them
};

/// Around a wait of the thread for events, instead of its sleep.
class solo_loop::outing final : public event_wait {
public:
    outing(solo_loop& loop, const loop_request& request) noexcept : loop_(loop), request_(request) {}
    outing(const outing&) = delete;
    outing& operator=(const outing&) = delete;

    [[nodiscard]] bool is_wanted() noexcept override {
        expect_no_child(loop_.generation_); // of one of the events
        return !loop_.is_drained() || (loop_.word_.load(sys::relaxed) & (work | look | stopped)) != 0
               || is_over(loop_.bedtime_end(request_));
    }
    [[nodiscard]] bool begin(sys::clock::time_point& until) noexcept override {
        expect_no_child(loop_.generation_);
        until = loop_.bedtime_end(request_);
        if (is_over(until) || !loop_.try_rest()) return false;
        recycler::flush();
        // [LP3] release: the source; pairs with the acquires in ring() and work_finished(). Else as in
        // rest().
        std::uint32_t now = loop_.go_to_rest(outside);
        if (loop_.is_needed(now)) {
            loop_.get_up();
            return false;
        }
        waiting_.emplace("work of a loop"); // if the thread works for another context too
        return true;
    }
    void end() noexcept override {
        waiting_.reset();
        loop_.get_up();
    }

private:
    [[nodiscard]] static bool is_over(sys::clock::time_point until) noexcept {
        return until != sys::clock::time_point::max() && until <= sys::clock::now();
    }

    solo_loop& loop_;
    const loop_request& request_;
    std::optional<blocked_here> waiting_;
};

std::size_t solo_loop::run(const loop_request& request) {
    const visit here(*this);
    std::size_t count = 0;
    while (count != request.most && !request.is_over()) {
        alarms_.ring_if_due();
        task* const found = next(request, count);
        if (found == nullptr) break;
        ++count;
        execute(found);
    }
    // The context stops with its last task, also in run_one().
    if (is_drained() && !has_work_elsewhere() && !is_stopped()) (void)rest({.waits = false});
    return count;
}

void solo_loop::execute(task* taken) {
    running_type_ = taken->type();
    run_task(*taken);
    expect_no_child(generation_);
}

/// The next task; or null: stopped, out of work, out of time, or there is none now and the caller does not
/// wait. Runs events meanwhile, which count as tasks do.
task* solo_loop::next(const loop_request& request, std::size_t& count) {
    for (;;) {
        if (is_stopped()) return nullptr;
        if (has_source() && sys::now_ns() - last_events_ns_ > events_every_ns) {
            run_events(request, count);
            if (count == request.most || request.is_over()) return nullptr;
            continue;
        }
        if (task* const found = take()) return found;
        if ((word_.load(sys::relaxed) & look) != 0) word_.fetch_and(~look, sys::acquire); // [LP1]
        if (alarms_.ring_if_due()) continue;
        if (!is_drained()) {
            sys::yield(); // a push is under way
            continue;
        }
        if (event_source* const source = source_.load(sys::acquire); source != nullptr) { // [LP4]
            outing out(*this, request);
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

/// Looks for a task for a while, unless that was in vain and no task has ended a sleep since: a thread that
/// has only timers to run needs none.
task* solo_loop::spin() noexcept {
    if (!is_spin_worth_ || alarms_.is_near()) return nullptr;
    task* found = nullptr;
    is_spin_worth_ = sys::spin_until([&] {
        found = queue_.take();
        return found != nullptr || !queue_.is_drained() || (word_.load(sys::relaxed) & (look | stopped)) != 0;
    });
    return found;
}

// ---- events

bool solo_loop::reserve_source(const void* kind) noexcept {
    const void* before = nullptr;
    return kind_of_source_.compare_exchange_strong(before, kind, sys::relaxed, sys::relaxed)
           || before == kind;
}

void solo_loop::adopt(event_source& source) noexcept {
    source_.store(&source,
                  sys::release); // [LP4] the source; pairs with the acquires in next() and run_events()
    look_again();                // a thread that sleeps already would not wait for events
}

std::size_t solo_loop::run_source(event_source& source, std::size_t most, event_wait* wait) {
    running_type_ = [](task*, task_request) { return type_description<event_source>(); };
    const std::size_t ran = source.run(most, wait);
    expect_no_child(generation_);
    return ran;
}

/// Between tasks, of which there are so many that the thread does not come to wait: as many as are there, but
/// for no longer than tasks have had.
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

// ---- sleep

/// Stops the context if there is no outstanding work; otherwise sleeps, if asked to, until there may be
/// something to do. False if something is queued.
bool solo_loop::rest(const loop_request& request) noexcept {
    if (!try_rest()) return false;
    recycler::flush();
    const sys::clock::time_point until = bedtime_end(request);
    // relaxed up to the last step, [LP1] and [LP2]: all steps are of one word, and all but this thread's
    // loads are read-modify-writes, so the last one acquires what each before it has released.
    std::uint32_t now = go_to_rest(asleep);
    while (!is_needed(now) && request.waits) {
        const blocked_here waiting("work of a loop"); // if the thread works for another context too
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

/// The thread that rests sets `how`: asleep or outside. What the word is then.
std::uint32_t solo_loop::go_to_rest(std::uint32_t how) noexcept {
    // [LQ2] acquire: that the work which other threads have ended here has been counted wherever it has gone
    // to; pairs with the release in work_finished(). release: that this thread has counted the loop in
    // get_up(); pairs with the acquire there.
    const std::uint32_t before = word_.fetch_or(how, sys::acq_rel);
    account(pool_).settle(before, before | how);
    return before | how;
}

/// When the thread has to be back.
sys::clock::time_point solo_loop::bedtime_end(const loop_request& request) const noexcept {
    const std::int64_t alarm = alarms_.next_ns();
    sys::clock::time_point until = sys::clock::time_point::max();
    if (alarm != loop_alarms::never) until = loop_time(alarm);
    if (request.deadline != nullptr) until = std::min(until, *request.deadline);
    return until;
}

/// The thread that is about to sleep, when others can see that: whether it must not. Without outstanding
/// work it stops the context. `now`: what the word was, and is then.
bool solo_loop::is_needed(std::uint32_t& now) noexcept {
    while ((now & (work | look | stopped)) == 0) {
        if (now >= one_work || pool_ != nullptr) return false;
        // A push since the queue was left has set `work`, or its call has not returned.
        if (word_.compare_exchange_strong(now, now | stopped, sys::relaxed, sys::relaxed)) {
            has_run_dry_.store(true, sys::relaxed);
            return true;
        }
    }
    return true;
}

/// After the sleep: the thread is the consumer again.
void solo_loop::get_up() noexcept {
    if (!queue_.try_begin()) {
        // A thread has pushed, and sees to it that a consumer comes: this is the one when it has said so.
        // Then it touches the loop no more, and its task may end that.
        while ((word_.load(sys::relaxed) & work) == 0 && !EKIDEN_MUTANT(solo_takes_over_early)) sys::yield();
        is_spin_worth_ = true;
    }
    account counted(pool_);
    std::uint32_t now = word_.load(sys::relaxed);
    for (;;) {
        if ((now & called) != 0 && !EKIDEN_MUTANT(solo_leaves_its_caller)) {
            sys::yield(); // to the thread that interrupts: then it touches the loop no more either
            now = word_.load(sys::relaxed);
            continue;
        }
        const std::uint32_t awake = now & ~(asleep | outside | work | look);
        counted.prepare(now, awake);
        // [LP1] acquire: what was done before the stop, or a look that came just now, or by the work that
        // has ended; [LP2] that a push is over; [LP5] that an interruption is. Pairs with the releases in
        // ring(), work_finished() and rouse().
        if (word_.compare_exchange_strong(now, awake, sys::acquire, sys::relaxed)) {
            counted.settle(now, awake);
            return;
        }
    }
}

void solo_loop::ring(std::uint32_t why) noexcept {
    // [LP2] release: the push; pairs with the acquire in get_up(). [LP1] release. The loop may be gone
    // afterwards, but if the thread waits outside: in the same step it is told to stay until rouse() is over.
    // [LP3] acquire: the source for which it waits.
    account counted(pool_); // [LQ2] release, acquire: as in work_started_in_pool(), work_finished()
    std::uint32_t before = word_.load(sys::relaxed);
    std::uint32_t after = 0;
    do {
        after = before | why | (must_call(before) ? called : 0);
        counted.prepare(before, after);
    } while (!word_.compare_exchange_strong(before, after, sys::acq_rel, sys::relaxed));
    counted.settle(before, after);
    rouse(before, must_call(before));
}

/// After a step from `seen`: wakes the thread. `calls`: it has set `called`; else only the word's address is
/// used.
void solo_loop::rouse(std::uint32_t seen, bool calls) noexcept {
    if (EKIDEN_MUTANT(solo_rings_in_silence)) return;
    if (calls) {
        source_.load(sys::relaxed)->interrupt(); // [LP3] acquired with the word
        word_.fetch_and(~called, sys::release);  // [LP5] the interruption; pairs with the acquire in get_up()
    }
    if ((seen & asleep) != 0) sys::futex_wake(word_);
}

void solo_loop::work_started_in_pool() noexcept {
    account counted(pool_);
    std::uint32_t before = word_.load(sys::relaxed);
    do {
        counted.prepare(before, before + one_work);
        // [LQ2] release: that the loop has been counted; pairs with the acquires in work_finished() and
        // go_to_rest().
    } while (!word_.compare_exchange_strong(before, before + one_work, sys::release, sys::relaxed));
    counted.settle(before, before + one_work);
}

void solo_loop::work_finished() noexcept {
    account counted(pool_);
    const bool may_stop = pool_ == nullptr;
    // [LP1] release: what the work has done. [LP3] acquire. As in ring(). [LQ2] release: that what the work
    // has begun elsewhere has been counted there; acquire: what others have ended here, and that the loop has
    // been counted. Pairs with the release in work_started_in_pool(), and with itself.
    std::uint32_t before = word_.load(sys::relaxed);
    std::uint32_t after = 0;
    bool was_last = false;
    bool calls = false;
    do {
        was_last = before < 2 * one_work && !EKIDEN_MUTANT(solo_work_ends_in_silence);
        if (before < 2 * one_work)
            sys::expects(before >= one_work,
                         "on_work_finished() is called more often than on_work_started()");
        calls = was_last && may_stop && must_call(before);
        after = (before - one_work) | (calls ? called : 0);
    } while (!word_.compare_exchange_strong(before, after, sys::acq_rel, sys::relaxed));
    // A loop of a pool does not stop for that. It may be gone after the next step.
    counted.settle(before, after);
    if (was_last && may_stop) rouse(before, calls);
}

void solo_loop::leave_pool() noexcept {
    const std::uint32_t before = word_.fetch_or(ended, sys::acq_rel); // [LQ2] as in go_to_rest()
    account(pool_).settle(before, before | ended);
}

void solo_loop::abandon_all() noexcept {
    for (;;) {
        if (task* const found = take())
            found->abandon();
        else if (queue_.is_drained())
            return;
        else
            sys::yield(); // a push is under way
    }
}

} // namespace ekiden::inline EKIDEN_ABI
