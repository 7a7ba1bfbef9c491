/// Tasks that belong together: spawned one by one, awaited all at once.
///
/// Part: fork. Used by: programs. For calls of a known number see parallel_invoke(), which is cheaper.
#pragma once

#include <ekiden/fork/task_count.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// What a task_group does when one of its tasks ends with an exception.
enum class on_error : std::uint8_t {
    run_all,     ///< goes on with the others
    cancel_rest, ///< as cancel()
};

/// A group of tasks of one pool. Any thread may call run(), cancel(), is_cancelled() and get_token() at any
/// time, the group's own tasks too, also while wait() runs. One thread at a time calls wait() and
/// exceptions(), and none of the group's tasks does. After wait() the group can be used again, and it may be
/// destroyed at once if no other thread is inside a call of it.
class task_group {
public:
    /// For tasks of this_pool(). Throws std::bad_alloc, and as default_pool().
    explicit task_group(on_error then = on_error::run_all);
    /// For tasks of `pool`. Throws std::bad_alloc.
    explicit task_group(thread_pool& pool, on_error then = on_error::run_all);
    /// Waits for all tasks; their exceptions are dropped.
    ~task_group();
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    /// Runs `f()`, or `f(token)` if it takes the group's stop token, in a worker of the pool. Dropped without
    /// being called if the group is cancelled before it begins, or the pool has been stopped. Throws as
    /// thread_pool::post(); then the group is as before.
    template <class F>
    void run(F&& f) {
        using callable = std::decay_t<F>;
        constexpr bool can_be_copied = std::constructible_from<callable, F>;
        constexpr bool can_be_called =
            std::invocable<callable&> || std::invocable<callable&, std::stop_token>;
        static_assert(can_be_copied,
                      "ekiden: task_group::run keeps a copy of the callable: pass one that can "
                      "be copied, or std::move() it");
        static_assert(can_be_called, "ekiden: task_group::run takes a callable without parameters, or with "
                                     "one of type std::stop_token");
        if constexpr (can_be_copied && can_be_called) {
            refuse_empty<callable>(f, "task_group::run");
            adding here(*this);
            // A pool that takes no more drops the task.
            (void)pool_.post(member<callable>{ticket(*this), std::forward<F>(f)});
            here.is_posted = true;
        }
    }

    /// Returns when all tasks have ended whose run() has returned before this call, and those that tasks have
    /// added meanwhile. Their effects are visible. A task that another thread adds while this runs is waited
    /// for by this call or by the next one, and so is what it throws reported. In a worker of a pool it runs
    /// other tasks of that pool meanwhile, as future::wait() does: hold no lock that these may want. Throws
    /// the exception that came first, if any; exceptions() has all. std::system_error(operation_canceled)
    /// counts as the last exception if the pool was stopped and has dropped tasks. After cancel() it may
    /// throw std::bad_alloc; the group is cancelled still then.
    void wait();

    /// Requests a stop: tasks of this group that have not begun are dropped, the others see it in their
    /// token. Returns false if that had been requested before. Lasts until wait() returns or throws; if it
    /// comes while wait() is about to do so, perhaps until the next one does.
    bool cancel() noexcept;
    [[nodiscard]] bool is_cancelled() const noexcept {
        // [TG2] acquire: what was done before cancel(); pairs with the release there.
        return is_cancelled_.load(sys::acquire);
    }
    /// For cancel() until the end of the wait() that is under way, or else of the next one.
    [[nodiscard]] std::stop_token get_token() const noexcept;

    /// All exceptions of the tasks before the last wait(), in the order in which they came.
    [[nodiscard]] const std::vector<std::exception_ptr>& exceptions() const noexcept { return thrown_; }

private:
    /// One task's membership: counted from construction to destruction.
    class ticket {
    public:
        explicit ticket(task_group& group) noexcept : group_(&group) { group.tasks_.add(); }
        ticket(ticket&& other) noexcept : group_(std::exchange(other.group_, nullptr)) {}
        ticket& operator=(ticket&&) = delete;
        ~ticket() {
            if (group_ == nullptr) return;
            if (has_begun_)
                group_->tasks_.end();
            else
                group_->dropped();
        }

        /// False if the task must not run.
        [[nodiscard]] bool begin() noexcept {
            has_begun_ = true;
            return !group_->is_cancelled();
        }
        [[nodiscard]] task_group& group() const noexcept { return *group_; }

    private:
        task_group* group_;
        bool has_begun_ = false;
    };

    template <class F>
    struct member {
        ticket place; // ends after f
        F f;

        void operator()() {
            if (!place.begin()) return;
            try {
                if constexpr (std::invocable<F&, std::stop_token>)
                    std::invoke(f, place.group().get_token());
                else
                    std::invoke(f);
            } catch (...) {
                place.group().failed();
            }
        }
    };

    /// A run() of this thread, the innermost one. A task that is dropped while it lasts may be its own, and
    /// whether that counts as dropped is known only at its end: not if run() throws.
    class adding {
    public:
        explicit adding(task_group& group) noexcept;
        ~adding();
        adding(const adding&) = delete;
        adding& operator=(const adding&) = delete;

        bool is_posted = false;

    private:
        friend class task_group;

        task_group& group_;
        adding* const outer_;
        std::uint64_t dropped_ = 0; // counted among the group's tasks still
    };

    void dropped() noexcept;
    void drop(std::uint64_t tasks, std::uint64_t uncounted) noexcept;
    void failed() noexcept;

    thread_pool& pool_;
    const on_error then_;
    sys::atomic<bool> is_cancelled_{false}; // written under lock_
    mutable sys::slow_lock lock_;
    std::stop_source stop_;                  // under lock_
    std::vector<std::exception_ptr> caught_; // under lock_; with room for one
    std::uint64_t dropped_ = 0;              // under lock_: tasks that ended without having begun
    std::vector<std::exception_ptr> thrown_; // as caught_; of the thread that waits
    detail::task_count tasks_;
};

} // namespace ekiden::inline EKIDEN_ABI
