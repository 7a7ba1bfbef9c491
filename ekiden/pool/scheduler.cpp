#include <ekiden/pool/scheduler.hpp>

#include <ekiden/pool/worker.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <system_error>

namespace ekiden::inline EKIDEN_ABI {

/// All pools of the process, so that the child of a fork() can mark them.
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

/// If the system refuses, the child of a fork() is not recognised.
[[maybe_unused]] const bool forks_are_watched =
    sys::at_fork([] { pools.lock.lock(); }, [] { pools.lock.unlock(); },
                 [] {
                     pools.lock.unlock();
                     pools.mark_forked();
                 });

struct current {
    worker* here = nullptr;
};

/// Nothing for a pool that needs no watch.
std::optional<sys::clock::duration> watch_interval(const thread_pool_options& options, const crew& threads) {
    if (options.watch_interval < std::chrono::milliseconds::zero()) {
        throw std::invalid_argument("ekiden: thread_pool: watch_interval is "
                                    + std::to_string(options.watch_interval.count())
                                    + " ms; allowed are 0 ms (no watch) and more");
    }
    if (options.watch_interval.count() == 0) return std::nullopt;
    if (threads.most() == threads.base() && !options.on_stall) return std::nullopt;
    return sys::bounded(options.watch_interval);
}

} // namespace

// ---- begin

scheduler::scheduler(thread_pool& face, thread_pool_options chosen)
    : face_(face), options_(std::move(chosen)), forks_(sleep_), threads_(*this, options_),
      queues_{injection_queue(gate_, 0), injection_queue(gate_, threads_.most()), injection_queue(gate_, 0)},
      sleep_(
          threads_.most(),
          {[](const void* self) noexcept { return static_cast<const scheduler*>(self)->has_work(); }, this}) {
    const auto interval = watch_interval(options_, threads_);
    try {
        // Before the workers, who look for it.
        if (interval.has_value()) watch_.emplace(*this, threads_, *interval, options_.name);
        threads_.start();
    } catch (...) {
        stop();
        threads_.join();
        throw;
    }
    pools.add(*this);
}

void scheduler::adopt_thread(worker& self) noexcept {
    sys::local<current>().here = &self;
    sys::local<wait_strategy>() = {[](void* me, completion& awaited, const sys::clock::time_point* deadline) {
                                       return static_cast<worker*>(me)->wait_for(awaited, deadline);
                                   },
                                   &self};
}

worker* scheduler::current_worker() noexcept { return sys::local<current>().here; }

scheduler* scheduler::of_this_thread() noexcept {
    worker* const here = current_worker();
    return here != nullptr ? &here->pool() : nullptr;
}

worker* scheduler::this_worker() const noexcept {
    worker* const here = current_worker();
    return here != nullptr && &here->pool() == this ? here : nullptr;
}

// ---- tasks come in

bool scheduler::submit(task* accepted, priority level) {
    bool is_in = false;
    try {
        worker* const here = this_worker();
        if (here == nullptr) {
            is_in = queue(level).push(accepted, gate_bit::refuses_outside);
        } else if (level != priority::normal) {
            is_in = queue(level).push(accepted, gate_bit::refuses_workers);
        } else if ((gate_.load(sys::relaxed) & gate_bit::refuses_workers) == 0) {
            here->push(accepted); // stopped meanwhile: this worker abandons it when it has ended its task
            is_in = true;
        }
    } catch (...) {
        accepted->abandon();
        throw;
    }
    if (is_in) [[likely]] {
        if (sleep_.notify()) [[unlikely]]
            sys::local<wait_hint>().worker_is_waking = true;
        return true;
    }
    accepted->abandon();
    refuse_in_child("post");
    return false;
}

bool scheduler::has_work() const noexcept {
    for (const injection_queue& queue : queues_) {
        if (queue.maybe_filled()) return true;
    }
    for (const auto& w : workers()) {
        if (w->maybe_has_tasks()) return true;
    }
    return forks_.has_offer();
}

void scheduler::report_unhandled(const char* type) noexcept {
    const std::string_view name = described_type(type);
    if (options_.on_unhandled_exception) {
        options_.on_unhandled_exception(std::current_exception(), name);
        return;
    }
    try {
        throw;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ekiden: a task of type %.*s ended with an exception: %s\n",
                     static_cast<int>(name.size()), name.data(), error.what());
    } catch (...) {
        std::fprintf(stderr, "ekiden: a task of type %.*s ended with an exception\n",
                     static_cast<int>(name.size()), name.data());
    }
    std::terminate();
}

void scheduler::report_stall(stall_report report) noexcept {
    report.tasks_pending = metrics().tasks_pending;
    if (options_.on_stall)
        options_.on_stall(report);
    else if (report.why == stall_report::reason::deadlocked)
        std::fprintf(stderr, "ekiden: pool %s: %s", options_.name.c_str(), report.text().c_str());
}

// ---- idle

bool scheduler::is_idle() const noexcept {
    // [W1] acquire: each finished task that is counted here makes visible that it, and what it posted, was
    // accepted. So the second sum, read later, covers the first; if they are equal, nothing that was accepted
    // was unfinished in between.
    std::uint64_t finished = 0;
    for (const auto& w : workers()) finished += w->finished();
    std::uint64_t accepted = 0;
    for (const auto& w : workers()) accepted += w->spawned();
    for (const injection_queue& queue : queues_) accepted += queue.pushed();
    return finished == accepted;
}

void scheduler::announce_idle() noexcept {
    // [W3] After a heavy fence: the finished tasks before this look; pairs with the fence in
    // block_until_idle().
    if (idle_waiters_.load(sys::relaxed) == 0) return;
    idle_epoch_.fetch_add(1, sys::relaxed);
    if (!EKIDEN_MUTANT(pool_idle_forgets_to_wake)) sys::futex_wake_all(idle_epoch_);
}

void scheduler::block_until_idle() noexcept {
    idle_waiters_.fetch_add(1, sys::relaxed);
    for (;;) {
        const std::uint32_t epoch = idle_epoch_.load(sys::relaxed);
        // [W3] The count of waiters before the look at the tasks: either a worker that falls idle sees the
        // waiter, and changes the epoch, or this sees what it has finished.
        sys::fence(sys::seq_cst);
        if (is_idle()) break;
        sys::futex_wait(idle_epoch_, epoch);
    }
    idle_waiters_.fetch_sub(1, sys::relaxed);
}

void scheduler::wait_idle() {
    refuse_in_worker("wait_idle");
    refuse_in_child("wait_idle");
    block_until_idle();
}

// ---- pause and end

void scheduler::pause() noexcept { gate_.fetch_or(gate_bit::paused, sys::relaxed); }

void scheduler::resume() noexcept {
    gate_.fetch_and(~gate_bit::paused, sys::release); // pairs with the acquire in worker::admit()
    if (!EKIDEN_MUTANT(pool_resume_forgets_to_wake)) sys::futex_wake_all(gate_);
    sleep_.signal_all();
}

void scheduler::stop() noexcept {
    gate_.fetch_or(gate_bit::closed, sys::relaxed); // [Q2] the fence in quiesce() comes after it
    // Whoever found the gate open has its task in a queue before a worker may leave.
    for (injection_queue& queue : queues_) {
        if (!EKIDEN_MUTANT(pool_stop_does_not_quiesce)) queue.quiesce();
    }
    // [W4] release: the tasks that quiesce() has waited for; pairs with the acquire in worker::is_stopped().
    gate_.fetch_or(gate_bit::stopped, sys::release);
    sys::futex_wake_all(gate_);
    sleep_.signal_all();
    threads_.stop();
}

void scheduler::join() {
    refuse_in_worker("join");
    refuse_in_child("join");
    std::lock_guard guard(joining_);
    gate_.fetch_or(gate_bit::closed, sys::relaxed); // [Q2] the fence in quiesce() comes after it
    resume();
    for (injection_queue& queue : queues_) queue.quiesce();
    block_until_idle();
    stop();
    threads_.join();
    watch_.reset();
}

void scheduler::set_crowded(bool is_so) noexcept {
    // [E4] relaxed: a hint to look at the numbers.
    if (is_so)
        gate_.fetch_or(gate_bit::crowded, sys::relaxed);
    else
        gate_.fetch_and(~gate_bit::crowded, sys::relaxed);
}

scheduler::~scheduler() { pools.remove(*this); }

// ---- refusals

void scheduler::refuse_in_worker(const char* operation) const {
    if (this_worker() == nullptr) return;
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                            std::string("ekiden: thread_pool::") + operation
                                + " in a worker of the same pool");
}

void scheduler::refuse_in_child(const char* operation) const {
    if ((gate_.load(sys::relaxed) & gate_bit::forked) == 0) return;
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            std::string("ekiden: thread_pool::") + operation
                                + " in the child of fork(); the pool has no threads here");
}

thread_pool_metrics scheduler::metrics() const {
    thread_pool_metrics sum;
    threads_.add_to(sum);
    for (const auto& w : workers()) w->add_to(sum);
    std::uint64_t accepted = 0;
    for (const auto& w : workers()) accepted += w->spawned();
    for (const injection_queue& queue : queues_) accepted += queue.pushed();
    sum.tasks_pending = accepted - sum.tasks_run - sum.tasks_abandoned;
    return sum;
}

} // namespace ekiden::inline EKIDEN_ABI
