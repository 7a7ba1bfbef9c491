/// Tasks that belong together: spawned one by one, awaited all at once.
///
/// Part: fork. Used by: programs. For calls of a known number see parallel_invoke(), which is cheaper.
#pragma once

#include <ekiden/future/completion.hpp>
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

/// A group of tasks of one pool. Any thread may call run(), cancel() and get_token(), the group's own tasks
/// too; one thread at a time calls wait() and exceptions(), and none of the group's tasks does. After wait()
/// the group can be used again.
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
        static_assert(std::invocable<callable&> || std::invocable<callable&, std::stop_token>);
        refuse_empty<callable>(f, "task_group::run");
        try {
            // A pool that takes no more drops the task, which tells the group.
            (void)pool_.post(member<callable>{ticket(*this), std::forward<F>(f)});
        } catch (...) { // the ticket has been dropped, but there was no task
            dropped_.fetch_sub(1, sys::relaxed);
            throw;
        }
    }

    /// Returns when all tasks have ended, those too that tasks have added meanwhile. Their effects are
    /// visible. In a worker of a pool it runs other tasks of that pool meanwhile. Throws the exception that
    /// came first, if any; exceptions() has all. std::system_error(operation_canceled) counts as the last
    /// exception if the pool was stopped and has dropped tasks. Throws
    /// std::system_error(operation_not_permitted) in the child of a fork() if the group had tasks then.
    void wait();

    /// Requests a stop: tasks of this group that have not begun are dropped, the others see it in their
    /// token. Returns false if that had been requested before. Lasts until wait() returns or throws.
    bool cancel() noexcept { return stop_.request_stop(); }
    [[nodiscard]] bool is_cancelled() const noexcept { return stop_.stop_requested(); }
    [[nodiscard]] std::stop_token get_token() const noexcept { return stop_.get_token(); }

    /// All exceptions of the tasks before the last wait(), in the order in which they came.
    [[nodiscard]] const std::vector<std::exception_ptr>& exceptions() const noexcept { return thrown_; }

private:
    /// One task's membership: counted from construction to destruction.
    class ticket {
    public:
        explicit ticket(task_group& group) noexcept : group_(&group) {
            // relaxed: whoever adds a task is counted itself, or waits later.
            group.pending_.fetch_add(1, sys::relaxed);
        }
        ticket(ticket&& other) noexcept : group_(std::exchange(other.group_, nullptr)) {}
        ticket& operator=(ticket&&) = delete;
        ~ticket() {
            if (group_ != nullptr) group_->leave(has_begun_);
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

    /// What wait() waits for, on its stack.
    class end final : public completion {
    public:
        explicit end(std::uint16_t born) noexcept
            : completion([](task*, task_request) -> const char* { return nullptr; }, 2, born) {}
    };

    void leave(bool has_begun) noexcept;
    void failed() noexcept;
    /// False in the child of a fork(), if there are tasks: they are the parent's.
    bool wait_for_all() noexcept;

    thread_pool& pool_;
    const on_error then_;
    const std::uint16_t born_ = sys::fork_generation();
    std::stop_source stop_;
    sys::slow_lock lock_;
    std::vector<std::exception_ptr> caught_; // under lock_; with room for one
    std::vector<std::exception_ptr> thrown_; // as caught_
    end* end_ = nullptr;                     // written before wait() gives up its own count
    sys::atomic<std::uint64_t> dropped_{0};  // tasks that ended without having begun
    // The tasks that have not ended, and one more while nobody waits.
    alignas(sys::isolation) sys::atomic<std::uint64_t> pending_{1};
};

} // namespace ekiden::inline EKIDEN_ABI
