#include <ekiden/fork/task_group.hpp>

#include <ekiden/context/held_locks.hpp>
#include <ekiden/execution/detail/batch_limit.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/sys/thread.hpp>

#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

task_group::task_group(on_error then) : task_group(this_pool(), then) {}

task_group::task_group(thread_pool& pool, on_error then)
    : task_group(pool, task_group_options{.then = then}) {}

task_group::task_group(const task_group_options& options) : task_group(this_pool(), options) {}

task_group::task_group(thread_pool& pool, const task_group_options& options)
    : pool_(pool), then_(options.then), concurrency_(options.concurrency) {}

namespace {

/// Reports a lock that the caller holds. A worker that waits runs other tasks, which may need this lock.
void expect_no_held_lock([[maybe_unused]] const detail::task_count& tasks,
                         [[maybe_unused]] const char* what) {
    if constexpr (lock_checks) {
        if (!tasks.is_empty()) detail::expect_no_lock_held(what);
    }
}

} // namespace

task_group::~task_group() {
    expect_no_held_lock(tasks_, "the destructor of a task_group");
    (void)tasks_.wait(wait_limit());
}

// ---- tasks that are dropped

namespace {

struct innermost {
    void* adding = nullptr;
};

} // namespace

task_group::adding::adding(task_group& group) noexcept
    : group_(group), outer_(static_cast<adding*>(sys::local<innermost>().adding)) {
    sys::local<innermost>().adding = this;
}

task_group::adding::~adding() {
    sys::local<innermost>().adding = outer_;
    // Accesses the group only if it has dropped tasks to count. Otherwise, the group may already be
    // destroyed.
    if (dropped_ != 0) [[unlikely]]
        group_.drop(dropped_, is_posted ? 0 : 1);
}

/// Returns the calling thread's innermost object for `group`, or null.
task_group::adding* task_group::adding::of(const task_group& group) noexcept {
    auto* here = static_cast<adding*>(sys::local<innermost>().adding);
    while (here != nullptr && &here->group_ != &group) here = here->outer_;
    return here;
}

/// Counts a task that was destroyed before it began.
void task_group::dropped() noexcept {
    if (adding* const here = adding::of(*this))
        ++here->dropped_;
    else
        drop(1, 0);
}

/// Ends the given number of tasks that did not begin. `uncounted` is the number of these tasks that do not
/// count as dropped.
void task_group::drop(std::uint64_t tasks, std::uint64_t uncounted) noexcept {
    if (tasks != uncounted) {
        const std::lock_guard guard(lock_);
        dropped_ += tasks - uncounted;
    }
    for (; tasks != 0; --tasks) tasks_.end();
}

// ---- the limit of concurrency

/// A runner has one of the places of a group with a limit. A runner is a task of the pool. It runs tasks of
/// the group, one after the other, until none is left. The group counts each runner, so a runner may access
/// the group after its tasks have ended.
class task_group::runner {
public:
    /// `first` may be null. Then the runner begins with the queue of the group.
    runner(task_group& group, task* first) noexcept : group_(&group), first_(first) {}
    runner(runner&& other) noexcept
        : group_(std::exchange(other.group_, nullptr)), first_(std::move(other.first_)) {}
    runner& operator=(runner&&) = delete;
    /// If the pool drops the runner, gives up its place. But if the pool drops the runner during the call
    /// that posts it, the caller of post() keeps the place.
    ~runner() {
        if (group_ == nullptr) return;
        {
            const owned_task dropped(std::move(first_));
        }
        if (adding::of(*group_) == nullptr) group_->drop_place();
    }

    void operator()() {
        task_group& group = *std::exchange(group_, nullptr);
        task* next = first_.release();
        if (next == nullptr) next = group.next_or_leave();
        batch_limit batch(true);
        while (next != nullptr) {
            next->run();
            next = nullptr;
            if (!batch.goes_on()) {
                if (posts_itself(group)) return;
                batch = batch_limit(true);
            }
            next = group.next_or_leave();
        }
    }

private:
    /// Posts a runner that takes over the place, so that other tasks of the pool get their turn. Returns
    /// false if there is no memory for it.
    [[nodiscard]] static bool posts_itself(task_group& group) noexcept {
        try {
            bool is_posted = false;
            {
                const adding here(group);
                is_posted = group.pool_.post_last(runner(group, nullptr));
            }
            if (!is_posted) group.drop_place();
            return true;
        } catch (...) {
            return false;
        }
    }

    task_group* group_;
    owned_task first_;
};

/// Posts the task if a place is free, and otherwise queues it. Throws whatever thread_pool::post() throws. If
/// the call throws, the task has been abandoned.
void task_group::begin_or_queue(task* spawned) {
    {
        const std::lock_guard guard(lock_);
        if (places_taken_ == concurrency_ && !EKIDEN_MUTANT(group_exceeds_its_limit)) {
            queue_.push(spawned);
            return;
        }
        ++places_taken_;
    }
    tasks_.add();
    bool is_posted = false;
    try {
        is_posted = pool_.post(runner(*this, spawned));
    } catch (...) {
        drop_place();
        throw;
    }
    if (!is_posted) drop_place();
}

/// Returns the next task for a runner. If no task is queued, gives up the place of the runner and returns
/// null. Then the group may already be destroyed.
task* task_group::next_or_leave() noexcept {
    {
        const std::lock_guard guard(lock_);
        if (task* const next = EKIDEN_MUTANT(group_runner_leaves_the_queue) ? nullptr : queue_.take())
            return next;
        --places_taken_;
    }
    tasks_.end();
    return nullptr;
}

/// Gives up the place of a runner that the pool has dropped. If no other runner is left, drops all tasks that
/// are queued.
void task_group::drop_place() noexcept {
    task_list rest;
    {
        const std::lock_guard guard(lock_);
        if (--places_taken_ == 0) rest = std::move(queue_);
    }
    while (task* const dropped_task = rest.take()) dropped_task->abandon();
    tasks_.end();
}

// ---- failure, stop and the end

namespace {

void append(detail::exception_list& list, std::exception_ptr error) noexcept {
    try {
        list.push_back(std::move(error));
    } catch (...) { // no memory, so the exception is lost
    }
}

} // namespace

void task_group::failed() noexcept {
    {
        const std::lock_guard guard(lock_);
        if (first_ == nullptr)
            first_ = std::current_exception();
        else
            append(others_, std::current_exception());
    }
    if (then_ == on_error::stop_rest) request_stop();
}

bool task_group::request_stop() noexcept {
    std::stop_source source(std::nostopstate);
    {
        const std::lock_guard guard(lock_);
        source = stop_;
        stop_requested_.store(true, sys::release); // [TG2] Release: pairs with stop_requested()
    }
    return source.request_stop(); // without the lock, because request_stop() runs callbacks
}

std::stop_token task_group::get_stop_token() const noexcept {
    const std::lock_guard guard(lock_);
    return stop_.get_token();
}

bool task_group::wait(const wait_limit& limit) {
    expect_no_held_lock(tasks_, "task_group::wait");
    switch (tasks_.wait(limit)) {
    case detail::task_count::wait_result::ended:
        break;
    case detail::task_count::wait_result::gave_up:
        return false;
    case detail::task_count::wait_result::left_behind:
        throw_left_behind();
    }
    std::stop_source next(std::nostopstate);
    if (stop_requested()) next = std::stop_source();
    std::exception_ptr first;
    detail::exception_list others;
    bool has_dropped = false;
    {
        const std::lock_guard guard(lock_);
        first = std::exchange(first_, nullptr);
        others.swap(others_);
        has_dropped = std::exchange(dropped_, 0) != 0;
        // If request_stop() is called after the check above, the request lasts until the next wait.
        if (next.stop_possible()) {
            stop_.swap(next);
            stop_requested_.store(false, sys::relaxed);
            has_dropped = false;
        }
    }
    if (has_dropped) {
        if (first == nullptr)
            first = detail::canceled_error("task_group: the pool was stopped");
        else
            append(others, detail::canceled_error("task_group: the pool was stopped"));
    }
    detail::replace_suppressed(std::move(others));
    if (first != nullptr) std::rethrow_exception(std::move(first));
    return true;
}

} // namespace ekiden::inline EKIDEN_ABI
