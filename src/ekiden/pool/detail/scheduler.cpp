#include <ekiden/pool/detail/scheduler.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/detail/limited_sleep.hpp>
#include <ekiden/execution/detail/own_thread.hpp>
#include <ekiden/execution/detail/unhandled.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/pool/detail/worker.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/call_stack.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The list of all pools in the process. The child of a fork() uses the list to mark the pools.
struct pool_list {
    sys::slow_lock lock;
    scheduler* newest = nullptr;

    void add(scheduler& pool) noexcept {
        std::lock_guard guard(lock);
        pool.older_ = newest;
        if (newest != nullptr) newest->newer_ = &pool;
        newest = &pool;
    }
    void remove(scheduler& pool) noexcept {
        std::lock_guard guard(lock);
        if (pool.older_ != nullptr) pool.older_->newer_ = pool.newer_;
        (pool.newer_ != nullptr ? pool.newer_->older_ : newest) = pool.older_;
    }
    void mark_forked() noexcept {
        for (scheduler* p = newest; p != nullptr; p = p->older_)
            p->gate_.fetch_or(gate_bit::forked, sys::release);
    }
};

namespace {

constinit pool_list pools;

/// If the system refuses these handlers, the library does not recognize the child of a fork().
[[maybe_unused]] const bool forks_are_watched =
    sys::at_fork([] { pools.lock.lock(); }, [] { pools.lock.unlock(); },
                 [] {
                     pools.lock.unlock();
                     pools.mark_forked();
                     scheduler::forget_thread();
                 });

void refuse_negative(const char* option, std::chrono::milliseconds chosen, const char* zero) {
    if (chosen < std::chrono::milliseconds::zero()) {
        sys::refuse_argument("thread_pool", option, std::to_string(chosen.count()) + " ms",
                             std::string("0 ms (") + zero + ") or more");
    }
}

/// Returns whether the pool needs a watch. Throws std::invalid_argument if an option of the watch is invalid.
bool needs_watch(const thread_pool_options& options, const pool_threads& threads) {
    refuse_negative("watch_interval", options.watch_interval, "no watch");
    refuse_negative("slow_task_time", options.slow_task_time, "no reports");
    refuse_negative("queue_delay_limit", options.queue_delay_limit, "no reports");
    refuse_negative("follow_interval", options.follow_interval, "only on request");
    if (options.stack_signal != 0 && !sys::accept_stack_signal(options.stack_signal)) {
        sys::refuse_argument("thread_pool", "stack_signal", options.stack_signal,
                             "0 (no call stacks) and signals for which the program has no handler");
    }
    if (options.watch_interval.count() == 0) return false;
    return threads.grows() || options.follow_interval.count() != 0 || options.on_stall
           || options.slow_task_time.count() != 0 || options.queue_delay_limit.count() != 0;
}

std::uint64_t search_ns(const thread_pool_options& options) {
    if (options.spin_time < std::chrono::microseconds::zero()
        || options.spin_time > thread_pool_options::longest_spin) {
        sys::refuse_argument("thread_pool", "spin_time", std::to_string(options.spin_time.count()) + " us",
                             "0 us to 10 s");
    }
    const auto spin_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(options.spin_time).count());
    return std::max(spin_ns, sys::spin_ns);
}

} // namespace

// ---- begin

scheduler::scheduler(thread_pool& face, void (*shut_down_services)(thread_pool&) noexcept,
                     thread_pool_options chosen)
    : face_(face), id_(face.id()), shut_down_services_(shut_down_services), options_(std::move(chosen)),
      search_ns_(ekiden::search_ns(options_)), threads_(*this, options_),
      queues_{injection_queue(gate_), injection_queue(gate_), injection_queue(gate_)}, circles_(*this),
      sleep_(
          threads_.most(),
          {[](const void* self) noexcept { return static_cast<const scheduler*>(self)->has_work(); }, this}) {
    refuse_in_simulation(no_simulation);
    const bool has_watch = needs_watch(options_, threads_);
    try {
        // The watch is made before the workers, because the workers use the watch.
        if (has_watch) watch_.emplace(*this, threads_, options_);
        threads_.start();
    } catch (...) {
        stop();
        threads_.join();
        throw;
    }
    pools.add(*this);
}

void scheduler::forget_thread() noexcept {
    thread_record& here = thread_record::here();
    here.role = nullptr;
    here.scope = nullptr;
    here.participant = nullptr;
    here.owner = {};
}

thread_pool* scheduler::of_this_thread() noexcept {
    return role_scope::first([](thread_role& role) -> thread_pool* {
        const worker* const here = role.as_worker();
        return here != nullptr ? &here->pool().face() : nullptr;
    });
}

worker* scheduler::this_worker() const noexcept {
    return static_cast<worker*>(role_scope::find(id_)); // every role for a pool is a worker
}

// ---- tasks come in

bool scheduler::submit(task* accepted, priority level, task_order order) {
    // The task may run before this call returns, and a thread that sees an effect of the task may destroy the
    // pool. So notify() is called inside the push, and quiesce() waits for the push. If the caller is a
    // worker of this pool, the pool cannot be destroyed during the call.
    const auto notify = [this]() noexcept { this->notify(); };
    trace::detail::moment(trace::kind::queued, accepted);
    bool is_in = false;
    try {
        worker* const here = this_worker();
        if (here == nullptr) {
            if (thread_record::here().role != nullptr) refuse_in_simulation(no_simulation); // of any context
            injection_queue& way_in = checked_queue(level);
            is_in = way_in.push(accepted, entrance_.refusing_bits(), notify);
            if (!is_in && entrance_.joins_outstanding_work()) {
                is_in = way_in.push(accepted, gate_bit::refuses_all, notify);
                entrance_.leave_late();
            }
        } else if (order == task_order::deferred
                   && (thread_record::here().blocked == 0 || EKIDEN_MUTANT(pool_defers_while_it_blocks))) {
            // When its current task has ended, this worker searches for a task and finds this one. If the
            // worker blocks or runs another task before that, the worker calls announce().
            is_in = checked_queue(level).push(accepted, gate_bit::refuses_all);
            if (is_in) here->owe(accepted);
        } else if (level != priority::normal || order != task_order::usual) {
            // With the order `last`, the task waits behind this worker's own tasks, like a task from outside.
            is_in = checked_queue(level).push(accepted, gate_bit::refuses_all, notify);
        } else if ((gate_.load(sys::relaxed) & gate_bit::refuses_all) == 0) {
            here->push(accepted); // if the pool stops now, a worker abandons the task
            notify();
            is_in = true;
        }
    } catch (...) {
        accepted->abandon();
        throw;
    }
    if (is_in) [[likely]] {
        if (EKIDEN_MUTANT(pool_notifies_after_the_push)) this->notify();
        return true;
    }
    const owned_task dropped(accepted); // is destroyed last, because the task may own the pool
    refuse_in_child("post");
    return false;
}

injection_queue& scheduler::checked_queue(priority level) {
    if (static_cast<std::size_t>(level) >= queues_.size()) {
        sys::refuse_argument("post", "priority", static_cast<int>(level), "high (0), normal (1) or low (2)");
    }
    return queue(level);
}

std::size_t scheduler::queued(std::size_t most) const noexcept {
    std::size_t found = 0;
    for (const injection_queue& queue : queues_) {
        found += queue.size(most - found);
        if (found >= most) return most;
    }
    for (const auto& w : workers()) {
        found += w->queued();
        if (found >= most) return most;
    }
    return found + (sources_have_work() ? 1 : 0);
}

// ---- the work source

void scheduler::set_source(work_source& source) noexcept {
    source_.store(&source, sys::release); // [WS1] Publishes the source. Pairs with the acquires below.
}

task* scheduler::find_in_sources(unsigned w) noexcept {
    work_source* const source = source_.load(sys::acquire); // [WS1]
    return source != nullptr ? source->find(w) : nullptr;
}

bool scheduler::sources_have_work() const noexcept {
    const work_source* const source = source_.load(sys::acquire); // [WS1]
    return source != nullptr && source->has_work();
}

void scheduler::ask_sources() noexcept {
    work_source* const source = source_.load(sys::acquire); // [WS1]
    if (source != nullptr) source->ask();
}

void scheduler::report_unhandled(const char* type) noexcept {
    ekiden::report_unhandled(options_.on_unhandled_exception, type);
}

void scheduler::report_stall(stall_report::reason why, std::span<const unsigned> threads) noexcept {
    stalls_.fetch_add(1, sys::relaxed);
    stall_report report{.why = why, .threads = {}, .tasks_pending = 0};
    try {
        for (const unsigned index : threads) report.threads.push_back(threads_.describe(index));
        report.tasks_pending = metrics().tasks_pending;
        if (!options_.on_stall && why != stall_report::reason::saturated)
            std::fprintf(stderr, "ekiden: pool %s: %s", options_.name.c_str(), report.text().c_str());
    } catch (...) { // no memory for the report or its text
        return;
    }
    if (options_.on_stall) {
        const hook_scope here("on_stall");
        options_.on_stall(report);
    }
}

void scheduler::report_slow_task(const slow_task_report& report) noexcept {
    slow_tasks_.fetch_add(1, sys::relaxed);
    if (options_.on_slow_task) {
        const hook_scope here("on_slow_task");
        options_.on_slow_task(report);
        return;
    }
    try {
        std::fprintf(stderr, "ekiden: pool %s: %s", options_.name.c_str(), report.text().c_str());
    } catch (...) { // no memory for the text
    }
}

// ---- idle

std::uint64_t scheduler::accepted() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& w : workers()) sum += w->spawned();
    for (const injection_queue& queue : queues_) sum += queue.pushed();
    return sum;
}

std::uint64_t scheduler::finished() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& w : workers()) sum += w->finished();
    return sum;
}

bool scheduler::is_idle() const noexcept {
    // [ID1] The loads of the counters have acquire order. A thread that sees the count of a finished task
    // also sees that this task, and all tasks that this task posted, were accepted. So the second sum, which
    // is read later, includes all these tasks. If both sums are equal, no accepted task was unfinished in
    // between.
    const std::uint64_t sum = finished();
    return sum == accepted();
}

void scheduler::announce_idle() noexcept {
    // [ID2] The caller's fence orders the counts of finished tasks before this load. Pairs with the fence in
    // block_until_idle().
    if (idle_waiters_.load(sys::relaxed) == 0) return;
    idle_epoch_.fetch_add(1, sys::relaxed);
    if (!EKIDEN_MUTANT(pool_idle_forgets_to_wake)) sys::futex_wake_all(idle_epoch_);
}

/// Waits until the pool is idle. Returns false if the limit is reached first.
bool scheduler::block_until_idle(const wait_limit& limit) noexcept {
    const blocked_here waiting("a pool to become idle"); // in a worker of another pool
    const limited_sleep asleep(limit, [this]() noexcept {
        // [LS1] Release: publishes the stop request. Pairs with the fence below.
        if (!EKIDEN_MUTANT(pool_stop_request_keeps_the_epoch)) idle_epoch_.fetch_add(1, sys::release);
        sys::futex_wake_all(idle_epoch_);
    });
    idle_waiters_.fetch_add(1, sys::relaxed);
    bool is_so = false;
    for (;;) {
        const std::uint32_t epoch = idle_epoch_.load(sys::relaxed);
        // [ID2] Orders the count of waiting threads before the loads of the counts of tasks. Either a worker
        // that becomes idle sees this waiting thread and changes the epoch, or this thread sees the tasks
        // that the worker has finished. [LS1] Together with the fence, the load of the epoch acts as an
        // acquire.
        sys::fence(sys::seq_cst);
        is_so = is_idle();
        if (is_so || asleep.is_over()) break;
        asleep.sleep(idle_epoch_, epoch);
    }
    idle_waiters_.fetch_sub(1, sys::relaxed);
    return is_so;
}

bool scheduler::wait_idle(const wait_limit& limit) {
    refuse_in_child("wait_idle");
    if (this_worker() != nullptr) refuse_in_own_thread("wait_idle");
    for (;;) {
        if (!block_until_idle(limit)) return false;
        // A task may have posted a function behind that of another thread's post, which is under way. After
        // this post, the function is in the pool. If no task was accepted meanwhile, there was no such post.
        const std::uint64_t before = accepted();
        if (!entrance_.await_posts(limit)) return false;
        if (accepted() == before && is_idle()) return true;
        if (limit.is_reached()) return false;
    }
}

// ---- pause and end

/// Has no effect after join() or stop() has begun, because join() waits for tasks that would wait for
/// resume().
void scheduler::pause() noexcept {
    if (is_in_forked_child()) return;
    std::uint32_t gate = gate_.load(sys::relaxed);
    while (((gate & gate_bit::closed) == 0 || EKIDEN_MUTANT(pool_pauses_although_joined))
           && !gate_.compare_exchange_weak(gate, gate | gate_bit::paused, sys::relaxed, sys::relaxed)) {
    }
}

void scheduler::resume() noexcept {
    if (is_in_forked_child()) return;
    // Release: publishes what the caller did before. Pairs with the acquire in worker::admit().
    gate_.fetch_and(~gate_bit::paused, sys::release);
    if (!EKIDEN_MUTANT(pool_resume_forgets_to_wake)) sys::futex_wake_all(gate_);
    sleep_.signal_all();
}

void scheduler::stop() noexcept {
    if (is_in_forked_child()) return;
    // [IQ1] quiesce() releases both bits to later pushes. [PC1] seq_cst, as in join().
    gate_.fetch_or(gate_bit::closed | (EKIDEN_MUTANT(pool_stop_admits_work) ? 0 : gate_bit::stopping),
                   sys::seq_cst);
    // If a thread has found the gate open, the thread's task is in a queue before any worker can end. This
    // also holds for a thread whose task belongs to outstanding work.
    for (injection_queue& queue : queues_) {
        if (!EKIDEN_MUTANT(pool_stop_does_not_quiesce)) queue.quiesce();
    }
    // [ST1] Release: publishes the tasks for which quiesce() has waited. Pairs with the acquire in
    // worker::is_stopped().
    gate_.fetch_or(gate_bit::stopped, sys::release);
    sys::futex_wake_all(gate_);
    // A join() that does not see the stopped gate yet repeats its loop in drain(), and does not wait for
    // outstanding work.
    if (!EKIDEN_MUTANT(pool_stop_leaves_the_work)) entrance_.give_up();
    sleep_.signal_all();
    (void)deep_waits_.request_stop();
    threads_.stop();
}

bool scheduler::join(const wait_limit& limit) {
    refuse_in_child("join");
    if (is_started_by(id_) || this_worker() != nullptr) refuse_in_own_thread("join");
    const blocked_here waiting("the end of a pool"); // in a worker of another pool
    entrance_.gather();
    // The gate is closed before the semaphore is acquired. So even a call that gives up because of another
    // join() puts the pool into the state of being joined. [IQ1] quiesce() releases the bit to later pushes.
    // [OW3] Release: publishes the gathered count. Pairs with the acquire in pool_entrance. [PC1]
    // seq_cst. Either drain() waits for a thread in the entrance, or this thread sees the bit.
    gate_.fetch_or(gate_bit::closed, sys::seq_cst);
    resume(); // a later pause() has no effect
    if (!joining_.acquire(limit)) return false;
    const bool is_drained = drain(limit);
    if (is_drained) {
        // If stop() has been called, the workers end or have ended. The kept tasks may use the services.
        if (has_stopped()) {
            end_threads();
            run_kept(false);
        }
        if (!std::exchange(services_are_shut_down_, true)) shut_down_services_(face_);
        end_threads();
        run_kept(true);
        watch_.reset();
    }
    joining_.release();
    return is_drained;
}

void scheduler::end_threads() noexcept {
    stop();
    threads_.join();
}

// ---- kept tasks

void scheduler::keep(task* operation) noexcept {
    sys::expects(!is_in_forked_child(), "an operation of a thread_pool's scheduler was started in the child "
                                        "of fork(); the pool has no threads there");
    operation->begin_link();
    task* newest = kept_.load(sys::relaxed);
    do {
        sys::expects(newest != no_more(), "an operation of a thread_pool's scheduler was started after "
                                          "join(); no thread can complete it");
        operation->next.store(newest, sys::relaxed);
        // [KT1] Release: publishes the task. Pairs with the acquire in run_kept().
    } while (!kept_.compare_exchange_weak(newest, operation, sys::release, sys::relaxed));
}

/// Runs the kept tasks in the order in which they were kept, as worker 0, whose thread has ended. If
/// `is_last` is true, later tasks are refused. Only the thread with the permit of joining_ may call
/// run_kept().
void scheduler::run_kept(bool is_last) noexcept {
    for (;;) {
        task* newest = kept_.load(sys::relaxed);
        if (newest == no_more()) return;
        if (newest == nullptr) {
            if (!is_last || kept_.compare_exchange_strong(newest, no_more(), sys::relaxed, sys::relaxed))
                return;
        }
        newest = kept_.exchange(nullptr, sys::acquire); // [KT1]
        task* oldest = nullptr;
        while (newest != nullptr) {
            task* const older = newest->next.load(sys::relaxed);
            newest->next.store(oldest, sys::relaxed);
            oldest = std::exchange(newest, older);
        }
        worker& self = *workers().front();
        const role_scope scope(self);
        while (oldest != nullptr) {
            task* const next = oldest->next.load(sys::relaxed);
            oldest->end_link();
            self.run_kept(std::exchange(oldest, next));
        }
    }
}

/// Waits for a moment at which there is no task, and no outstanding work that may post a task. The pool
/// already refuses the tasks of all other threads outside. Returns false if the limit is reached first.
bool scheduler::drain(const wait_limit& limit) noexcept {
    for (;;) {
        if (!entrance_.await_all(limit)) return false;
        for (injection_queue& queue : queues_) queue.quiesce();
        if (!block_until_idle(limit)) return false;
        // Tasks begin outstanding work, and is_idle() has seen the counts of all finished tasks with acquire
        // order. So try_end() sees all work that has begun since await_all() began [OW1]. If no work has
        // begun, no work was outstanding when no task was left.
        if (entrance_.try_end()) return true;
        // stop() does not wait for outstanding work. A post that counts as such work still uses the pool.
        if (has_stopped()) return entrance_.await_posts(limit);
        if (limit.is_reached()) return false; // without this check, new work could delay this thread forever
    }
}

scheduler::~scheduler() { pools.remove(*this); }

// ---- refusals

void scheduler::refuse_in_own_thread(const char* operation) const {
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                            std::string("ekiden: thread_pool::") + operation
                                + " in a thread of the same pool");
}

void scheduler::refuse_destruction_here() const noexcept {
    const worker* const here = this_worker(); // null if the watch or a thread_local object is the caller
    refuse_destruction("thread_pool", here != nullptr, here != nullptr ? here->running() : nullptr);
}

void scheduler::refuse_in_child(const char* operation) const {
    if ((gate_.load(sys::relaxed) & gate_bit::forked) == 0) return;
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            std::string("ekiden: thread_pool::") + operation
                                + " in the child of fork(); the pool has no threads here");
}

std::string scheduler::activity() const {
    std::string signs;
    for (const auto& w : workers()) signs += w->look().sign();
    return signs;
}

thread_pool_metrics scheduler::metrics() const {
    thread_pool_metrics sum;
    threads_.add_to(sum);
    const bool is_in_child = is_in_forked_child(); // the child has no workers
    for (const auto& w : workers()) {
        w->add_to(sum);
        sum.threads_at_work += !is_in_child && w->look().sign() == '#' ? 1U : 0U;
    }
    sum.stalls = stalls_.load(sys::relaxed);
    sum.slow_tasks = slow_tasks_.load(sys::relaxed);
    sum.tasks_pending = accepted() - sum.tasks_run - sum.tasks_abandoned;
    return sum;
}

} // namespace ekiden::inline EKIDEN_ABI
