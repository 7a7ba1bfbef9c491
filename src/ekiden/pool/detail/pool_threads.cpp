#include <ekiden/pool/detail/pool_threads.hpp>

#include <ekiden/execution/detail/thread_hooks.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/pool/detail/worker.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/start_thread.hpp>
#include <ekiden/sys/topology.hpp>

#include <algorithm>
#include <mutex>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

namespace {

unsigned checked_base(const thread_pool_options& options) {
    if (options.threads > thread_pool_options::most_threads) {
        sys::refuse_argument("thread_pool", "threads", options.threads,
                             "0 (one per usable processor) to "
                                 + std::to_string(thread_pool_options::most_threads));
    }
    return options.threads;
}

unsigned checked_least(const thread_pool_options& options) {
    if (options.least_threads == 0 || options.least_threads > thread_pool_options::most_threads) {
        sys::refuse_argument("thread_pool", "least_threads", options.least_threads,
                             "1 to " + std::to_string(thread_pool_options::most_threads));
    }
    return options.least_threads;
}

/// Returns the largest number of threads of a pool that follows the number of processors.
unsigned checked_upper(const thread_pool_options& options, unsigned least) {
    if (options.upper_threads != 0
        && (options.upper_threads < least || options.upper_threads > thread_pool_options::most_threads)) {
        sys::refuse_argument("thread_pool", "upper_threads", options.upper_threads,
                             "0 (the processors of the process) and " + std::to_string(least)
                                 + " (least_threads) to "
                                 + std::to_string(thread_pool_options::most_threads));
    }
    if (options.threads != 0) return options.threads;
    if (options.upper_threads != 0) return options.upper_threads;
    return std::max(least, static_cast<unsigned>(sys::usable_cpus().size()));
}

unsigned checked_most(const thread_pool_options& options, unsigned base) {
    if (options.max_threads == 0) return base;
    // If `threads` is 0, the number of processors decides, and a lower `max_threads` has no effect.
    const unsigned least = options.threads;
    if (options.max_threads < least || options.max_threads > thread_pool_options::most_threads) {
        sys::refuse_argument("thread_pool", "max_threads", options.max_threads,
                             "0 (as threads) and " + std::to_string(std::max(least, 1U)) + " (threads) to "
                                 + std::to_string(thread_pool_options::most_threads));
    }
    return std::max(options.max_threads, base);
}

sys::clock::duration checked_keep_alive(const thread_pool_options& options) {
    if (options.keep_alive < std::chrono::milliseconds::zero()) {
        sys::refuse_argument("thread_pool", "keep_alive", std::to_string(options.keep_alive.count()) + " ms",
                             "0 ms or more");
    }
    return sys::bounded(options.keep_alive);
}

/// Returns the processors for each worker. The result is empty if the workers may use all processors.
std::vector<std::vector<int>> places(placement wanted, unsigned threads) {
    std::vector<std::vector<int>> groups;
    if (wanted == placement::compact) {
        for (const int cpu : sys::usable_cpus()) groups.push_back({cpu});
    } else if (wanted == placement::numa) {
        groups = sys::numa_nodes();
    }
    if (groups.empty()) return {};
    std::vector<std::vector<int>> result;
    for (unsigned i = 0; i != threads; ++i) {
        // With `compact`, each worker gets the next processor. With `numa`, workers with neighboring indexes
        // get the same node.
        const std::size_t group =
            wanted == placement::compact ? i % groups.size() : i * groups.size() / threads;
        result.push_back(groups[group]);
    }
    return result;
}

} // namespace

// ---- begin and end

pool_threads::pool_threads(scheduler& pool, const thread_pool_options& options)
    : pool_(pool), options_(options), follows_(checked_base(options) == 0), least_(checked_least(options)),
      upper_(checked_upper(options, least_)),
      base_(follows_ ? std::clamp(sys::usable_concurrency(), least_, upper_) : options.threads),
      most_(checked_most(options, upper_)), keep_alive_(checked_keep_alive(options)),
      places_(places(options.placement, base())),
      workers_(std::make_unique<std::unique_ptr<worker>[]>(most_)),
      members_(std::make_unique<member[]>(most_)) {
    standing_by_.reserve(most_);
    for (unsigned i = 0; i != base(); ++i) enlist();
}

pool_threads::~pool_threads() = default;

pool_threads::member& pool_threads::of(const worker& who) const noexcept { return members_[who.index()]; }

/// Adds a worker. The thread of the worker starts later.
void pool_threads::enlist() {
    const unsigned index = enlisted_.load(sys::relaxed);
    workers_[index] = std::make_unique<worker>(pool_, index);
    // [EL1] Release: publishes the worker. Pairs with the acquire in workers().
    enlisted_.store(index + 1, sys::release);
}

void pool_threads::start() {
    const std::lock_guard guard(lock_);
    for (unsigned i = 0; i != base(); ++i) start_thread(i);
}

void pool_threads::start_thread(unsigned index) {
    member& fresh = members_[index];
    fresh.thread = sys::start_thread("thread_pool", "a worker", [this, index] { live(index); });
    fresh.is = member::duty::at_work;
    ++threads_;
    peak_ = std::max(peak_, threads_);
    change_active(+1);
}

void pool_threads::live(unsigned index) {
    worker& self = *workers_[index];
    thread_record::here().owner = pool_.id();
    thread_record::here().set_stack_reserve(options_.stack_reserve);
    sys::set_thread_name(options_.name, std::to_string(index));
    if (!places_.empty()) (void)sys::set_thread_affinity(places_[index % places_.size()]);
    {
        const std::lock_guard guard(lock_);
        members_[index].probe = sys::thread_probe::of_this_thread();
    }
    pool_.left_sleep(); // wakes the watch, which may sleep because no worker was awake
    // The hooks run outside of the role. So a hook that waits for a result does not run tasks, which would
    // begin before on_thread_start has returned, or after on_thread_stop has begun.
    call_thread_hook(options_.on_thread_start, "on_thread_start", index, options_.on_unhandled_exception);
    {
        const role_scope scope(self); // after this scope, posts of this thread count as posts from outside
        self.run();
    }
    if (EKIDEN_MUTANT(threads_leaves_the_role_to_its_thread)) thread_record::here().role = &self;
    call_thread_hook(options_.on_thread_stop, "on_thread_stop", index, options_.on_unhandled_exception);
    leave(index);
}

void pool_threads::stop() noexcept {
    const std::lock_guard guard(lock_);
    has_stopped_ = true;
    while (!standing_by_.empty()) hire();
}

void pool_threads::join() noexcept {
    // No thread is hired or retires any more, so `thread` does not change.
    for (unsigned i = 0; i != workers().size(); ++i) {
        if (members_[i].thread.joinable()) members_[i].thread.join();
    }
    if (last_retired_.joinable()) last_retired_.join();
}

// ---- how many are at work

void pool_threads::change_active(int by) noexcept {
    active_.store(active_.load(sys::relaxed) + static_cast<unsigned>(by), sys::relaxed);
}

bool pool_threads::is_crowded() const noexcept {
    // A worker that sleeps because there are no tasks counts as active, but does not run.
    return active_.load(sys::relaxed) > base() + pool_.sleep().waiting();
}

/// Hires a thread that stands by. If no thread stands by, starts a new thread, if the pool may have more
/// threads.
void pool_threads::hire() noexcept {
    if (!standing_by_.empty()) {
        member& next = members_[standing_by_.back()];
        standing_by_.pop_back();
        next.is = member::duty::at_work;
        change_active(+1);
        next.hired.store(1, sys::relaxed); // [EL2]
        if (!EKIDEN_MUTANT(threads_hires_without_a_call)) sys::futex_wake(next.hired);
        return;
    }
    if (threads_ >= limit() || has_stopped_) return;
    const auto is_free = [](const member& m) { return m.is == member::duty::none; };
    try {
        const unsigned index = static_cast<unsigned>(
            std::find_if(members_.get(), members_.get() + enlisted_.load(sys::relaxed), is_free)
            - members_.get());
        if (index == enlisted_.load(sys::relaxed)) enlist();
        start_thread(index);
    } catch (...) { // there is no memory or no thread, so the pool continues without the new thread
        ++refused_;
    }
}

void pool_threads::block(worker& who, const char* what) noexcept {
    const std::lock_guard guard(lock_);
    member& own = of(who);
    own.what = what;
    own.since_ns = sys::now_ns();
    if (std::exchange(own.is, member::duty::blocked) != member::duty::compensated) {
        ++blocked_;
        change_active(-1);
    }
    if (active_.load(sys::relaxed) < base() && !EKIDEN_MUTANT(threads_blocks_without_a_replacement)) hire();
}

void pool_threads::unblock(worker& who) noexcept {
    if (pool_.is_in_forked_child()) return; // the region began before the fork
    const std::lock_guard guard(lock_);
    member& own = of(who);
    own.is = member::duty::at_work;
    --blocked_;
    change_active(+1);
}

// ---- more than are needed

bool pool_threads::stand_by(worker& who) noexcept {
    member& own = of(who);
    {
        const std::lock_guard guard(lock_);
        if (has_stopped_ || !is_crowded()) return true;
        if (own.is == member::duty::compensated) return true; // the watch will find this thread at work
        own.is = member::duty::standing_by;
        own.hired.store(0, sys::relaxed);
        standing_by_.push_back(who.index());
        change_active(-1);
    }
    const auto end = sys::clock::now() + keep_alive_;
    // [EL2] Relaxed is enough, because a hired thread checks the queues like any other thread, and the queues
    // order the accesses.
    while (own.hired.load(sys::relaxed) == 0) {
        if (sys::futex_wait_until(own.hired, 0, end)) continue;
        const std::lock_guard guard(lock_);
        if (own.hired.load(sys::relaxed) != 0 && !EKIDEN_MUTANT(threads_retires_although_hired)) return true;
        std::erase(standing_by_, who.index());
        begin_to_leave(who);
        return false;
    }
    return true;
}

bool pool_threads::retire(worker& who) noexcept {
    const std::lock_guard guard(lock_);
    if (has_stopped_ || of(who).is != member::duty::at_work || !has_surplus()) return false;
    change_active(-1);
    begin_to_leave(who);
    return true;
}

/// Called under the lock by the thread of `who`, which runs no more tasks. The thread keeps its place until
/// it calls leave(). So on_thread_stop has returned before on_thread_start is called with the same index.
void pool_threads::begin_to_leave(worker& who) noexcept {
    who.show(worker::snapshot::state::gone);
    of(who).is = member::duty::leaving;
}

/// Called by each thread as its last step. If the thread retires, joins the thread that retired before this
/// thread, and then gives its place back. So at most as many threads end at the same time as the pool has
/// places, and one more, even if threads retire faster than the system ends them. If the pool has stopped,
/// join() joins this thread.
void pool_threads::leave(unsigned index) noexcept {
    std::unique_lock guard(lock_);
    member& own = members_[index];
    if (own.is != member::duty::leaving) return;
    while (!has_stopped_ && last_retired_.joinable()) {
        sys::thread before = std::exchange(last_retired_, {});
        guard.unlock();
        before.join();
        guard.lock();
    }
    if (has_stopped_) return;
    own.is = member::duty::none;
    own.probe = {};
    --threads_;
    last_retired_ = std::move(own.thread);
    // While this thread kept its place, another thread may have blocked, and no place may have been free.
    if (active_.load(sys::relaxed) < base() && !EKIDEN_MUTANT(threads_leaves_without_a_replacement)) hire();
}

// ---- for the watch

bool pool_threads::is_quiet() const noexcept {
    const std::lock_guard guard(lock_);
    for (unsigned i = 0; i != workers().size(); ++i) {
        switch (members_[i].is) {
        case member::duty::none:
        case member::duty::standing_by:
        case member::duty::leaving:
            break;
        case member::duty::at_work:
            if (!pool_.sleep().is_waiting(i)) return false;
            break;
        case member::duty::blocked:
        case member::duty::compensated:
            return false;
        }
    }
    return true;
}

void pool_threads::take_back() noexcept {
    const std::lock_guard guard(lock_);
    const std::chrono::nanoseconds interval = sys::bounded(options_.watch_interval);
    const auto much_ns = static_cast<std::uint64_t>(interval.count()) / 4;
    for (unsigned i = 0; i != workers().size(); ++i) {
        member& m = members_[i];
        if (m.is != member::duty::compensated) continue;
        const bool has_run = m.probe.cpu_ns() - m.seen_cpu_ns > much_ns;
        const bool is_idle = pool_.sleep().is_waiting(i);
        if (workers()[i]->finished() == m.seen_finished && !has_run && !is_idle) continue;
        m.is = member::duty::at_work;
        --blocked_;
        change_active(+1);
        // The worker may have fallen asleep without a limit, because the pool did not seem crowded at that
        // time.
        pool_.sleep().signal(i);
    }
}

bool pool_threads::compensate() noexcept {
    const std::lock_guard guard(lock_);
    for (unsigned i = 0; i != workers().size(); ++i) {
        member& m = members_[i];
        if (m.is != member::duty::at_work) continue;
        const std::uint64_t finished = workers()[i]->finished();
        const std::uint64_t cpu_ns = m.probe.cpu_ns();
        const bool has_stood = finished == m.seen_finished && cpu_ns == m.seen_cpu_ns;
        m.seen_finished = finished;
        m.seen_cpu_ns = cpu_ns;
        if (!has_stood || !m.probe.is_asleep()) continue;
        m.is = member::duty::compensated;
        m.since_ns = sys::now_ns();
        ++blocked_;
        change_active(-1);
    }
    const unsigned before = active_.load(sys::relaxed);
    hire_up_to_base();
    return active_.load(sys::relaxed) != before;
}

/// Called under the lock. Hires threads until enough are at work, or no thread can be hired.
void pool_threads::hire_up_to_base() noexcept {
    for (unsigned now = active_.load(sys::relaxed); now < base();) {
        hire();
        if (std::exchange(now, active_.load(sys::relaxed)) == now) break;
    }
}

void pool_threads::follow() {
    if (follows_ && !pool_.is_in_forked_child()) follow(sys::usable_concurrency());
}

void pool_threads::follow(unsigned processors) noexcept {
    const std::lock_guard guard(lock_);
    if (!follows_ || has_stopped_) return;
    const unsigned wanted = std::clamp(processors, least_, upper_);
    if (wanted == base()) return;
    const bool has_too_many = wanted < base();
    base_.store(wanted, sys::relaxed); // a hint for the workers, which decide under the lock
    ++adapted_;
    hire_up_to_base();
    // The workers that sleep without a limit see that they are too many.
    if (has_too_many) pool_.sleep().signal_all();
}

bool pool_threads::is_saturated() const noexcept {
    const std::lock_guard guard(lock_);
    return threads_ >= limit() && active_.load(sys::relaxed) == 0;
}

bool pool_threads::are_all_blocked(unsigned count) const noexcept {
    const std::lock_guard guard(lock_);
    return active_.load(sys::relaxed) == 0 && blocked_ == count;
}

sys::thread_probe pool_threads::probe_of(unsigned index) const noexcept {
    const std::lock_guard guard(lock_);
    return members_[index].probe;
}

stalled_thread pool_threads::describe(unsigned index) const {
    const std::lock_guard guard(lock_);
    const member& m = members_[index];
    const worker& w = *workers()[index];
    stalled_thread told;
    told.index = index;
    told.task = w.running_type();
    told.nested_waits = pool_.circles().depth_of(w);
    if (const auto result = pool_.circles().result_awaited_by(w)) {
        told.waits_for = *result;
    } else if (m.is == member::duty::blocked) {
        told.waits_for = m.what;
    } else {
        told.waits_for = "something in the system";
    }
    if (m.is == member::duty::blocked || m.is == member::duty::compensated)
        told.waited = std::chrono::nanoseconds(sys::now_ns() - m.since_ns);
    return told;
}

void pool_threads::add_to(thread_pool_metrics& sum) const noexcept {
    // In the child of a fork(), no other thread can change these values. So the child does not acquire the
    // lock, which may be held by a thread that does not exist in the child.
    const bool is_in_child = pool_.is_in_forked_child();
    std::unique_lock guard(lock_, std::defer_lock);
    if (!is_in_child) guard.lock();
    sum.threads_wanted = base();
    sum.threads_adapted = adapted_;
    sum.peak_threads = peak_;
    sum.threads_refused = refused_;
    if (is_in_child) return; // the child has no threads
    sum.threads = threads_;
    sum.threads_blocked = blocked_;
    sum.threads_standing_by = static_cast<unsigned>(standing_by_.size());
    sum.is_saturated = threads_ >= limit() && active_.load(sys::relaxed) == 0;
}

} // namespace ekiden::inline EKIDEN_ABI
