#include <ekiden/loop/detail/shared_loop.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/detail/run_task.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/mutant.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

shared_loop::shared_loop(context_id context) noexcept
    : context_(context), generation_(sys::fork_generation()) {}

shared_loop::~shared_loop() {
    // A thread that has seen that the loop is stopped may destroy the loop. The thread that has stopped the
    // loop may not have released the lock yet.
    if (!EKIDEN_MUTANT(loop_ends_in_a_hurry)) lock_.lock();
}

/// A section under the lock. Wakes the chosen threads after it has released the lock, because these threads
/// acquire the lock next.
struct shared_loop::section {
    explicit section(loop_lock& of) noexcept : lock(of) {}
    ~section() {
        lock.unlock();
        while (chosen != nullptr) {
            sleeper* const one = std::exchange(chosen, chosen->next);
            one->parker.unpark(); // the sleeper may be destroyed from here on
        }
    }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

    unique_lock lock;
    sleeper* chosen = nullptr;
};

/// A scope in which the calling thread is inside run().
class shared_loop::run_scope final : public loop_role {
public:
    explicit run_scope(shared_loop& loop) noexcept : loop_role(loop.context_), loop_(loop), scope_(*this) {
        loop_.inside_.fetch_add(1, sys::relaxed);
        // This run() announces the deferred tasks of the outer run(), because it may dequeue some of them.
        if (outer() != nullptr) deferred = std::exchange(outer()->deferred, 0);
    }
    ~run_scope() { loop_.leave(*this); }
    run_scope(const run_scope&) = delete;
    run_scope& operator=(const run_scope&) = delete;

    void announce() noexcept override {
        if (deferred != 0) loop_.announce(std::exchange(deferred, 0));
    }

    bool has_thrown = true; // until run() returns

private:
    shared_loop& loop_;
    const role_scope scope_;
    const hidden_scopes strands_; // tasks of this run() are outside of the surrounding strands
};

// ---- threads that bring work

bool shared_loop::push(task* pushed, task_order order) noexcept {
    auto* const poster = static_cast<loop_role*>(role_scope::find(context_));
    // A thread that is inside run() but runs no task is firing alarms. This thread dequeues a task next.
    const bool is_deferred =
        poster != nullptr
        && (order == task_order::deferred ? thread_record::here().blocked == 0 : !poster->runs_task);
    section locked(lock_);
    if (is_closed_) return false;
    queue_.push(pushed);
    if (!is_deferred && !EKIDEN_MUTANT(loop_posts_in_silence)) locked.chosen = choose(1);
    if (is_deferred) ++poster->deferred;
    return true;
}

void shared_loop::announce(unsigned tasks) noexcept {
    section locked(lock_);
    if (!queue_.is_empty() && !EKIDEN_MUTANT(loop_announces_nothing)) locked.chosen = choose(tasks);
}

void shared_loop::work_started() noexcept {
    const lock_guard guard(lock_);
    ++outstanding_;
}

void shared_loop::work_finished() noexcept {
    section locked(lock_);
    sys::expects(outstanding_ != 0, "on_work_finished() is called more often than on_work_started()");
    --outstanding_;
    if (is_out_of_work() && !EKIDEN_MUTANT(loop_work_ends_in_silence)) locked.chosen = choose(1);
}

void shared_loop::alarm_moved() noexcept {
    section locked(lock_);
    if (EKIDEN_MUTANT(loop_ignores_a_moved_alarm)) return;
    locked.chosen = keeper_ != nullptr ? std::exchange(keeper_, nullptr) : choose(1);
}

// ---- the threads inside

std::size_t shared_loop::run(const loop_request& request) {
    if (is_stopped()) return 0;
    run_scope here(*this);
    std::size_t count = 0;
    while (count != request.most && !request.is_over()) {
        alarms_.ring_if_due();
        task* const found = next(here, request);
        if (found == nullptr) break;
        ++count;
        run_task(*found);
        expect_no_child(generation_);
    }
    here.has_thrown = false;
    return count;
}

/// Ends the last task of this thread and returns the next task. Returns null if the loop has stopped, or if
/// the limit is reached. Also returns null if no task is queued and the request does not wait.
task* shared_loop::next(run_scope& here, const loop_request& request) noexcept {
    section locked(lock_);
    end_task(here);
    for (;;) {
        if (stopped_.load(sys::relaxed)) return nullptr;
        if (task* const found = queue_.take()) {
            here.running = found->type();
            here.runs_task = true;
            ++running_;
            const unsigned deferred = std::exchange(here.deferred, 0);
            locked.chosen =
                choose(deferred > 1 && !EKIDEN_MUTANT(loop_keeps_deferred_tasks) ? deferred - 1
                                                                                 : (lacks_keeper() ? 1 : 0));
            return found;
        }
        if (is_out_of_work()) {
            locked.chosen = halt();
            return nullptr;
        }
        if (alarms_.is_due()) {
            locked.lock.unlock();
            alarms_.ring_if_due();
            locked.lock.lock();
            continue;
        }
        if (!request.waits) return nullptr;
        sleep(locked.lock, request);
        if (request.is_over()) return nullptr;
    }
}

/// Called at the end of run(). Wakes other threads if this is necessary.
void shared_loop::leave(run_scope& here) noexcept {
    section locked(lock_);
    end_task(here);
    inside_.fetch_sub(1, sys::relaxed);
    if (is_out_of_work() && !here.has_thrown)
        locked.chosen = halt(); // the loop stops after its last task, even in run_one()
    else if ((!queue_.is_empty() || is_out_of_work() || lacks_keeper())
             && !EKIDEN_MUTANT(loop_leaves_in_silence))
        // This thread may have been woken for a task that it has not dequeued.
        locked.chosen = choose(here.deferred + 1);
}

void shared_loop::end_task(run_scope& here) noexcept {
    if (std::exchange(here.runs_task, false)) --running_;
}

/// Returns whether the loop must stop, because no task is queued or running and no work is outstanding.
bool shared_loop::is_out_of_work() const noexcept {
    return queue_.is_empty() && (running_ == 0 || EKIDEN_MUTANT(loop_stops_during_a_task))
           && outstanding_ == 0 && !stopped_.load(sys::relaxed);
}

/// Returns whether threads sleep, an alarm is set, and none of these threads wakes for the alarm.
bool shared_loop::lacks_keeper() const noexcept {
    return keeper_ == nullptr && sleepers_ != nullptr && alarms_.is_set()
           && !EKIDEN_MUTANT(loop_forgets_the_time);
}

// ---- stop

/// Stops the loop because no work is left. Returns the threads to wake.
shared_loop::sleeper* shared_loop::halt() noexcept {
    has_run_dry_ = true;
    stopped_.store(true, sys::release); // [LO1] Release: publishes what tasks and work have done.
    return EKIDEN_MUTANT(loop_runs_dry_in_silence) ? nullptr : choose(all);
}

void shared_loop::stop() noexcept {
    section locked(lock_);
    stopped_.store(true, sys::release); // [LO1] Release: publishes what this thread has done.
    if (!EKIDEN_MUTANT(loop_stops_in_silence)) locked.chosen = choose(all);
}

void shared_loop::restart() noexcept {
    const lock_guard guard(lock_);
    has_run_dry_ = false;
    stopped_.store(false, sys::relaxed);
}

bool shared_loop::was_left_stopped() noexcept {
    const lock_guard guard(lock_);
    return !queue_.is_empty() && std::exchange(has_run_dry_, false);
}

void shared_loop::abandon_all() noexcept {
    {
        const lock_guard guard(lock_);
        is_closed_ = true;
    }
    // From here on, only this thread uses the queue.
    while (task* const dropped = queue_.take()) dropped->abandon();
}

// ---- sleep

/// Sleeps until another thread chooses this thread, or until the deadline of the request. The keeper also
/// wakes at the next alarm.
void shared_loop::sleep(unique_lock& lock, const loop_request& request) noexcept {
    sleeper self;
    sys::clock::time_point until = request.until();
    if (keeper_ == nullptr) {
        keeper_ = &self;
        until = request.until(alarms_);
    } else {
        self.next = std::exchange(sleepers_, &self);
    }
    lock.unlock();
    recycler::flush();
    bool is_chosen = true;
    {
        const blocked_here waiting("work of a loop"); // tells the thread's other contexts that it blocks
        const trace::detail::interval parked(trace::kind::parked, "parked", 0);
        if (until == sys::clock::time_point::max())
            self.parker.park();
        else
            is_chosen = self.parker.park_until(until);
    }
    lock.lock();
    if (is_chosen || withdraw(self)) return;
    // Another thread has chosen this thread just before withdraw(), and still uses `self`.
    lock.unlock();
    if (!EKIDEN_MUTANT(loop_sleeper_leaves_its_waker)) self.parker.park();
    lock.lock();
}

/// Removes up to `most` threads from the lists and returns them. Chooses the keeper last, because another
/// thread would have to replace the keeper.
shared_loop::sleeper* shared_loop::choose(unsigned most) noexcept {
    sleeper* chosen = nullptr;
    for (; most != 0 && (sleepers_ != nullptr || keeper_ != nullptr); --most) {
        sleeper*& from = sleepers_ != nullptr ? sleepers_ : keeper_;
        sleeper* const one = from;
        from = one->next;
        one->next = std::exchange(chosen, one);
    }
    return chosen;
}

/// Removes the calling thread from the lists. Returns false if another thread has chosen the calling thread.
bool shared_loop::withdraw(const sleeper& self) noexcept {
    sleeper** link = keeper_ == &self ? &keeper_ : &sleepers_;
    while (*link != nullptr && *link != &self) link = &(*link)->next;
    if (*link == nullptr) return false;
    *link = self.next;
    return true;
}

} // namespace ekiden::inline EKIDEN_ABI
