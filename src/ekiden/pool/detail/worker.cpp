#include <ekiden/pool/detail/worker.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/detail/run_task.hpp>
#include <ekiden/pool/detail/work_source.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace {

/// Called after a task has run. If the task has called fork() and this process is the child, terminates the
/// child. The child has no workers, so only the parent may execute the next steps of this thread.
void expects_no_child(std::uint32_t gate) noexcept {
    sys::expects(
        (gate & gate_bit::forked) == 0,
        "a task that called fork() has returned in the child, where its pool does not exist; a child of "
        "a task ends with exec or _exit");
}

/// A scope in which other threads see the locks of the calling thread as locks of a worker.
class locks_shown {
public:
    explicit locks_shown(detail::shown_locks& there) noexcept {
        if constexpr (lock_checks) detail::show_locks(&there);
    }
    ~locks_shown() {
        if constexpr (lock_checks) detail::show_locks(nullptr);
    }
    locks_shown(const locks_shown&) = delete;
    locks_shown& operator=(const locks_shown&) = delete;
};

} // namespace

worker::worker(scheduler& pool, unsigned index)
    : thread_role(pool.id()), pool_(pool), index_(index), random_(index + 1),
      // A heavy fence of a thief interrupts each processor that runs a thread of the process.
      deque_(256, 0, 32 * pool.threads().base()) {}

// ---- the scheduler's loop

void worker::run() noexcept {
    pool_threads& others = pool_.threads();
    const locks_shown shown(locks_);
    show(snapshot::state::busy); // another thread may have been this worker before
    for (;;) {
        // If this worker has tasks of its own and the pool is open, there is nothing else to check before the
        // next task.
        if (deque_.maybe_filled() && pool_.gate().load(sys::relaxed) == 0 && !has_token_) {
            if (task* const next = find_task()) {
                execute(next, is_piece(next) || admit());
                continue;
            }
        }
        const bool has_stopped = is_stopped(); // read before the last search of the queues
        const bool has_surplus = others.has_surplus();
        if (has_surplus && others.is_crowded()) {
            end_search();
            stop_searching();
            show(snapshot::state::standing_by);
            if (!others.stand_by(*this)) return;
            show(snapshot::state::busy);
        }
        const auto end = has_surplus ? sys::clock::now() + others.keep_alive() : sys::clock::time_point();
        if (task* const next = next_task({nullptr, has_surplus ? &end : nullptr})) {
            execute(next, is_piece(next) || admit());
        } else if (has_stopped) {
            break;
        } else if (has_surplus && sys::clock::now() >= end) {
            end_search();
            stop_searching();
            if (others.retire(*this)) return;
        }
    }
    stop_searching();
    show(snapshot::state::gone);
}

/// Called before this thread stops searching for tasks, because this thread may have completed the last task
/// of the pool.
void worker::stop_searching() noexcept {
    announce();
    sys::fence(sys::seq_cst); // [ID2] Before a sleep, prepare_wait() has this fence.
    if (!EKIDEN_MUTANT(worker_leaves_unannounced)) pool_.announce_idle();
}

/// Searches first for tasks of high priority, then for this worker's own tasks, then for tasks from outside,
/// and then for the tasks of other workers. Every 64th search begins with a place in which a task could
/// otherwise wait forever.
task* worker::find_task() noexcept {
    task* found = ++turn_ % fair_turn == 0 ? neglected() : nullptr;
    if (found == nullptr) found = injected(priority::high);
    if (found == nullptr) found = deque_.pop(); // the newest task, which is still in this core's cache
    if (found == nullptr) found = from_outside();
    if (found == nullptr) found = stolen();
    if (found == nullptr) found = from_sources();
    if (found == nullptr) found = injected(priority::low);
    return found;
}

/// Wakes a worker for all tasks that this worker has deferred. Called before this worker sleeps, blocks,
/// stands by, retires, or begins another task.
void worker::announce() noexcept {
    if (std::exchange(owed_, 0) != 0 && !EKIDEN_MUTANT(worker_forgets_what_it_owes)) pool_.notify();
}

/// Called before `taken` begins. If `taken` is the only deferred task, no other worker must be woken for it.
void worker::settle(const task* taken) noexcept {
    if (owed_ == 1 && owed_task_ == taken)
        owed_ = 0;
    else
        announce();
}

void worker::execute(task* taken, bool is_admitted) noexcept {
    if (owed_ != 0) [[unlikely]]
        settle(taken);
    if (!is_admitted) {
        running_type_.store(taken->type(), sys::relaxed); // a message needs it if the task breaks a contract
        taken->abandon();
        abandoned_.add(); // [ID1] like ran_.add() below
        return;
    }
    if (taken->queued_at != 0) [[unlikely]]
        delays_.record(sys::now_ns() - taken->queued_at);
    const task::function type = taken->type();
    running_.store(taken, sys::relaxed);
    running_type_.store(type, sys::relaxed);
    try {
        run_task(*taken);
    } catch (...) {
        pool_.report_unhandled(type(nullptr, task_request::describe));
    }
    // [ID1] Release: publishes the effects of the task and the posts that it has made. Pairs with the acquire
    // in scheduler::is_idle().
    ran_.add();
}

namespace {

/// Returns whether tasks must wait for resume(). A stopped pool abandons its tasks, even if it is paused.
bool is_paused(std::uint32_t gate) noexcept {
    return (gate & (gate_bit::paused | gate_bit::stopped)) == gate_bit::paused;
}

} // namespace

/// Returns whether `taken` is a piece of a running task. A piece runs even in a paused or stopped pool.
bool worker::is_piece(const task* taken) noexcept { return std::exchange(piece_, nullptr) == taken; }

/// Waits while the pool is paused. Returns false if the task must not run.
bool worker::admit() noexcept {
    // The gate is read after the task was taken. So if the task was posted after pause(), this thread sees
    // that the gate is paused. Acquire: sees what happened before resume(). Pairs with the release in
    // scheduler::resume().
    std::uint32_t gate = pool_.gate().load(sys::acquire);
    if (is_paused(gate)) [[unlikely]] {
        show(snapshot::state::held);
        do {
            sys::futex_wait(pool_.gate(), gate);
            gate = pool_.gate().load(sys::acquire);
        } while (is_paused(gate));
        show(snapshot::state::busy);
    }
    return (gate & gate_bit::stopped) == 0;
}

// ---- where tasks come from

/// Takes a task from one of four places, which the calls use in turn. Without this function, a worker that
/// always has own tasks would never search these places. A task in a batch can be overtaken by a bounded
/// number of later tasks, because this function steals from the batch of the next worker. The comment of
/// thread_pool states the bound.
task* worker::neglected() noexcept {
    switch (turn_ / fair_turn % 4) {
    case 0:
        return from_outside();
    case 1:
        return injected(priority::low);
    case 2: {
        const auto& workers = pool_.workers();
        next_victim_ = next_victim_ + 1 < workers.size() ? next_victim_ + 1 : 0;
        return next_victim_ != index_ ? note_theft(workers[next_victim_]->batch_.take()) : nullptr;
    }
    default:
        // This case is rare, because a theft from a deque may need a system call that interrupts the owner.
        if (turn_ / fair_turn % theft_turn == theft_turn - 1) {
            if (task* const found = stolen()) return found;
        }
        return deque_.pop_oldest();
    }
}

task* worker::injected(priority level) noexcept {
    injection_queue& queue = pool_.queue(level);
    if (!queue.maybe_filled()) return nullptr; // the common case, which is checked before every task
    task* const found = queue.take_one(turn_);
    if (found != nullptr) injected_.add();
    return found;
}

/// Returns the oldest task of the batch. If the batch is empty, first fills the batch with this worker's
/// share of the tasks in a ring.
task* worker::from_outside() noexcept {
    if (task* const found = batch_.take()) return found;
    injection_queue& queue = pool_.queue(priority::normal);
    std::array<task*, task_batch::most + 1> taken; // not initialized: take() writes what is read
    // In a large pool, a smaller share would often be one task. Then all workers would contend for the ring.
    const std::size_t share = std::min(pool_.threads().base(), most_shares);
    const std::size_t count = queue.take(next_ring_++, taken, share);
    if (count == 0) return nullptr;
    injected_.add(count);
    if (count != 1) {
        batch_.fill(std::span(taken).subspan(1, count - 1));
        // While the tasks were neither in the ring nor in the batch, another worker may have found no task
        // and fallen asleep.
        if (!EKIDEN_MUTANT(worker_hides_its_batch)) pool_.notify();
    }
    return taken[0];
}

task* worker::stolen() noexcept {
    const auto& workers = pool_.workers();
    const auto count = static_cast<std::uint32_t>(workers.size());
    std::uint32_t victim = random_.below(count);
    for (std::uint32_t i = 0; i != count; ++i) {
        if (victim != index_) {
            if (task* const found = stolen_from(*workers[victim])) return found;
        }
        if (++victim == count) victim = 0;
    }
    return nullptr;
}

/// Steals from the batch of the victim first. The tasks in the batch came from outside before most tasks in
/// the deque were posted, and a theft from the batch costs no heavy fence. Not inlined, because find_task()
/// is called for each task: if it contains these steps, nested spawn takes 1.03 times as long on two cores.
EKIDEN_NOINLINE task* worker::stolen_from(worker& victim) noexcept {
    // The last search of a stopped pool must find each task. A worker with own tasks rarely steals.
    const bool may_leave = (pool_.gate().load(sys::relaxed) == 0 || EKIDEN_MUTANT(worker_leaves_after_stop))
                           && !deque_.maybe_filled();
    if (may_leave && trial_.stays_away_from(victim.deque_)) return nullptr;
    task* found = victim.batch_.take();
    if (found == nullptr && !(may_leave && trial_.leaves(victim.deque_)) && victim.deque_.maybe_filled()) {
        found = victim.deque_.steal();
        // This worker has run out of tasks, so other workers probably have, too. They will steal what the
        // stolen task posts. Without this call, the first theft from each worker would cost a heavy fence,
        // and many thieves would execute this fence before the worker meets the first one.
        if (found != nullptr && !deque_.maybe_filled()) deque_.expect_thieves();
    }
    return note_theft(found);
}

/// Counts a stolen task and returns the task. `found` may be null.
task* worker::note_theft(task* found) noexcept {
    if (found == nullptr) return nullptr;
    stolen_.add();
    trace::detail::moment(trace::kind::stolen, found);
    return found;
}

/// Returns a piece of a task that another thread runs.
task* worker::from_sources() noexcept {
    task* const found = pool_.find_in_sources(index_);
    if (found == nullptr) return nullptr;
    piece_ = found;
    spawned_.add(); // counts the piece like a task that this worker has posted
    return found;
}

/// Pushes a task onto this worker's own deque. The worker has taken the task and must not begin it. Returns
/// false if there is no memory.
bool worker::put_back(task* taken) noexcept {
    try {
        deque_.push(taken); // not push(), because the task is already counted
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void worker::push(task* spawned) {
    const std::uint64_t number = spawned_.value();
    // Every 64th task records how long it waits, as in injection_ring::push().
    spawned->queued_at = number % 64 == 0 ? sys::now_ns() : 0;
    // The task is counted before another worker can finish the task, because scheduler::is_idle() needs this
    // order.
    spawned_.add();
    try {
        deque_.push(spawned);
    } catch (...) {
        ran_.add(); // keeps both counts equal, because the task was not pushed
        throw;
    }
}

// ---- waiting

/// Returns the next task. Returns null if there is a reason to return.
task* worker::next_task(const reason_to_return& reason) noexcept {
    for (;;) {
        // The reason is checked before the queues. So before a worker of a stopped pool ends, it finds the
        // queues empty after the stop.
        const bool leave = should_return(reason);
        const bool searches = !leave || (reason.awaited == nullptr && is_stopped());
        task* found = searches ? find(reason) : nullptr;
        if (found == nullptr && !leave) found = search(reason);
        if (found != nullptr || leave) {
            end_search();
            if (found != nullptr && has_slept_) wake_others();
            return found;
        }
        // A worker that leaves a task to another worker searches the deque again before it sleeps.
        if (has_token_ && trial_.is_on()) continue;
        park(reason);
        // More workers may have been woken than the pool needs. run() checks this.
        if (reason.awaited == nullptr && reason.end_of_life != nullptr) return nullptr;
    }
}

/// Searches for a task. In a paused pool, a worker that waits for a result takes only pieces of running
/// tasks. The worker would have to hold any other task until resume(), even if the result is ready earlier.
task* worker::find(const reason_to_return& reason) noexcept {
    return must_hold_back(reason) ? from_sources() : find_task();
}

bool worker::must_hold_back(const reason_to_return& reason) const noexcept {
    // Relaxed, because the result is a hint. wait_for() checks again when it has a task. Before a sleep, the
    // fence of prepare_wait() orders this load.
    return reason.awaited != nullptr && is_paused(pool_.gate().load(sys::relaxed));
}

/// Called when this worker stops searching. Gives the token back if the worker has it.
void worker::end_search() noexcept {
    if (!has_token_) return;
    has_token_ = false;
    pool_.sleep().end_search();
}

/// Called when this worker has found a task after a long sleep. If there is a task for each sleeper, wakes
/// two sleepers. They do the same, so the wake-ups form a tree.
void worker::wake_others() noexcept {
    has_slept_ = false;
    const std::uint32_t sleepers = pool_.sleep().waiting();
    if (sleepers != 0 && pool_.queued(sleepers) >= sleepers) wakes_.add(pool_.sleep().signal_any(2));
}

bool worker::should_return(const reason_to_return& reason) const noexcept {
    if (reason.awaited != nullptr) return reason.awaited->is_ready();
    if (reason.end_of_life != nullptr && sys::clock::now() >= *reason.end_of_life) return true;
    // A worker whose end_of_life is null has not seen the surplus yet.
    return is_stopped() || (reason.end_of_life == nullptr && pool_.threads().has_surplus());
}

bool worker::is_stopped() const noexcept {
    // [ST1] Acquire: sees every accepted task in its queue. Pairs with the release in scheduler::stop().
    const std::uint32_t gate = pool_.gate().load(sys::acquire);
    expects_no_child(gate);
    return (gate & gate_bit::stopped) != 0;
}

/// Searches for a limited time. Only the owner of the token searches, unless the program has set a spin_time.
/// In the protocol of sleep.md, a worker that searches without the token counts as busy, because no poster
/// relies on this worker.
task* worker::search(const reason_to_return& reason) noexcept {
    if (!has_token_) has_token_ = pool_.sleep().try_begin_search();
    if (!has_token_ && !pool_.all_search()) return nullptr;
    if (pool_.all_search()) stop_searching(); // wait_idle() must not wait for the end of a long search
    is_.store(snapshot::state::searching, sys::relaxed); // not show(), which reads the clock
    task* found = nullptr;
    (void)sys::spin_until(
        [&] {
            found = find(reason);
            return found != nullptr || should_return(reason);
        },
        pool_.search_ns());
    is_.store(snapshot::state::busy, sys::relaxed);
    return found;
}

void worker::park(const reason_to_return& reason) noexcept {
    struct awaiting {
        event_count& sleep;
        unsigned index;
        sys::atomic<bool> called{false};
    } self{pool_.sleep(), index_};
    const auto wake = [](void* argument) noexcept {
        auto* const sleeper = static_cast<awaiting*>(argument);
        sleeper->sleep.signal(sleeper->index);
        // [PK1] Release: orders all accesses of this thread to the worker before this store. Pairs with the
        // acquire at the end of park().
        sleeper->called.store(true, sys::release);
    };
    completion::continuation when_ready(wake, &self);
    if (reason.awaited != nullptr && !reason.awaited->attach(when_ready)) return;

    recycler::flush();
    event_count& sleep = pool_.sleep();
    sleep.prepare_wait(index_, has_token_);
    pool_.ask_sources(); // A later fork of a call sees this sleeper: see fork/detail/fork_join.md.
    // If this worker must hold back, there are two cases. Either this worker sees here that the gate is open,
    // or resume() sees that the worker sleeps.
    const bool saw_work = must_hold_back(reason) ? pool_.sources_have_work() : pool_.has_work();
    // If another worker has the token, that worker checks the queues again or wakes a worker (W4' in
    // sleep.md).
    if ((saw_work && !sleep.is_searched()) || should_return(reason)) {
        has_token_ = sleep.cancel_wait(index_) == event_count::wake_up::notified;
        // Posters may have relied on the token that prepare_wait() gave back. The next owner of the token
        // checks the queues again.
        if (saw_work && !has_token_) has_token_ = sleep.try_begin_search();
    } else {
        pool_.announce_idle();
        this->sleep(reason);
    }
    pool_.left_sleep();

    if (reason.awaited != nullptr && !reason.awaited->detach(when_ready)) {
        while (!self.called.load(sys::acquire)) sys::yield(); // [PK1]
    }
}

void worker::sleep(const reason_to_return& reason) noexcept {
    owed_ = 0; // this worker has checked the queues after a fence, like a poster
    if (reason.awaited != nullptr) pool_.circles().begin_wait(*this);
    parks_.add();
    const trace::detail::interval parked(trace::kind::parked, "parked", 0);
    show(snapshot::state::asleep);
    has_token_ = pool_.sleep().commit_wait(index_, reason.end_of_life) == event_count::wake_up::notified;
    has_slept_ = sys::now_ns() - since_ns_.load(sys::relaxed) >= pool_.search_ns();
    show(snapshot::state::busy);
    if (has_token_) wakes_.add();
    if (reason.awaited != nullptr) pool_.circles().end_wait(*this);
}

/// A scope in which the running task waits for a result. Other threads can see the wait.
class worker::shown_wait {
public:
    shown_wait(worker& self, completion& awaited) noexcept
        : self_(self), frame_{&awaited,
                              {self.running_.load(sys::relaxed), self.running_type_.load(sys::relaxed),
                               self.number_of_running()},
                              self.waits_} {
        self_.waits_ = &frame_;
        if (self_.depth_ < most_shown) show(frame_.waiting);
        ++self_.depth_;
        self_.resumed_at_.store(no_count, sys::relaxed);
        show(&awaited);
    }
    ~shown_wait() {
        --self_.depth_;
        if (self_.depth_ < most_shown) show(running_task{});
        self_.waits_ = frame_.outer;
        show(frame_.outer != nullptr ? frame_.outer->awaited : nullptr);
        self_.running_.store(frame_.waiting.self, sys::relaxed);
        self_.running_type_.store(frame_.waiting.type, sys::relaxed);
        self_.resumed_number_.store(frame_.waiting.number, sys::relaxed);
        self_.resumed_at_.store(self_.finished(), sys::relaxed);
    }
    shown_wait(const shown_wait&) = delete;
    shown_wait& operator=(const shown_wait&) = delete;

private:
    void show(const running_task& waiting) noexcept {
        shown_task& place = self_.on_stack_[self_.depth_];
        place.number.store(waiting.number, sys::relaxed);
        place.type.store(waiting.type, sys::relaxed);
        place.self.store(waiting.self, sys::relaxed);
    }
    void show(const completion* awaited) noexcept {
        self_.awaited_type_.store(awaited != nullptr ? awaited->type() : nullptr, sys::relaxed);
        self_.awaited_.store(awaited, sys::relaxed);
    }

    worker& self_;
    const wait_frame frame_;
};

bool worker::wait_for(completion& awaited, const wait_limit* limit) noexcept {
    if (limit != nullptr) {
        const blocked_here sleeping("a result, for a limited time");
        return awaited.block(limit);
    }
    if (thread_record::here().is_stack_low()) [[unlikely]] {
        wait_in_reserve(awaited);
        return true;
    }
    const shown_wait shown(*this, awaited);
    const hidden_scopes others_are_outside;
    while (task* const next = next_task({&awaited, nullptr})) {
        if (EKIDEN_MUTANT(worker_takes_a_task_to_the_gate)) (void)admit();
        const std::uint32_t gate = pool_.gate().load(sys::acquire); // read after the task was taken
        const bool runs_already = is_piece(next);
        bool is_admitted = runs_already || (gate & gate_bit::stopped) == 0;
        if (!runs_already && is_paused(gate)) {
            // admit() would hold this worker until resume(), even if the awaited result is ready earlier.
            if (put_back(next)) continue;
            is_admitted = admit();
        }
        execute(next, is_admitted);
        expects_no_child(pool_.gate().load(sys::relaxed));
    }
    return true;
}

/// Waits without running tasks. The pool counts this worker as blocked, so an elastic pool hires another
/// thread. If no worker of the pool can run tasks, the pool reports a stall.
void worker::wait_in_reserve(completion& awaited) noexcept {
    const blocked_here sleeping("a result, without running other tasks on a deep stack");
    sleep_until_stop(awaited, true);
}

/// Sleeps until `awaited` is complete. After stop(), this worker abandons the queued tasks meanwhile, because
/// the other workers may sleep here, too.
void worker::sleep_until_stop(completion& awaited, bool is_deep) noexcept {
    const shown_wait shown(*this, awaited);
    show(snapshot::state::asleep);
    pool_.circles().begin_wait(*this, is_deep);
    const wait_limit until_stop(pool_.stop_of_deep_waits());
    const bool is_ready = awaited.block(&until_stop);
    pool_.circles().end_wait(*this);
    show(snapshot::state::busy);
    if (is_ready) return;
    abandon_queued();
    show(snapshot::state::asleep);
    awaited.sleep();
    show(snapshot::state::busy);
}

/// Called after the pool has stopped. No task enters a queue of the pool any more.
void worker::abandon_queued() noexcept {
    (void)is_stopped(); // [ST1] sees every accepted task in its queue
    const hidden_scopes others_are_outside;
    for (;;) {
        task* found = injected(priority::high);
        if (found == nullptr) found = deque_.pop();
        if (found == nullptr) found = from_outside();
        if (found == nullptr) found = stolen();
        if (found == nullptr) found = injected(priority::low);
        if (found == nullptr) return;
        execute(found, false);
    }
}

bool worker::sleep_for(completion& awaited) noexcept {
    const blocked_here sleeping("a result, without running other tasks meanwhile");
    sleep_until_stop(awaited, false);
    return true;
}

bool worker::begin_blocking(const char* what) noexcept {
    if (std::exchange(is_blocking_, true)) return false;
    since_ns_.store(sys::now_ns(), sys::relaxed);
    if (std::string_view(last_blocked_on_) != what) last_blocked_on_ = trace::detail::kept(what);
    // [DU1] Release: publishes the text. Pairs with the acquire in look().
    blocked_on_.store(last_blocked_on_, sys::release);
    if (trace::is_on()) [[unlikely]]
        blocked_since_ =
            trace::detail::begin(trace::kind::blocked, last_blocked_on_, &trace::detail::literal);
    pool_.threads().block(*this, what);
    return true;
}

void worker::end_blocking() noexcept {
    if (blocked_since_ != trace::detail::nothing) [[unlikely]]
        trace::detail::end(std::exchange(blocked_since_, trace::detail::nothing), 0);
    pool_.threads().unblock(*this);
    blocked_on_.store(nullptr, sys::relaxed);
    is_blocking_ = false;
}

} // namespace ekiden::inline EKIDEN_ABI
