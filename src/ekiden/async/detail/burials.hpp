/// The list of the buried coroutines. A coroutine is buried if its executor and the context of its root
/// coroutine have both refused it. While a thread waits for the end of a root coroutine, it destroys the
/// buried coroutines.
///
/// Part: async. Used by: coroutine_service, sync_wait. This header is private.
#pragma once

#include <ekiden/future/detail/completion.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/process_lock.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

class root_wait;

/// The list of the buried coroutines of one context. Threads in root_wait::wait() share the ownership of the
/// list, because the context may be destroyed before the wait ends. In the child of a fork(), a list from the
/// parent process is not used, because its coroutines and waits belong to the parent. Only its lock is used
/// there, by a wait of the forking thread and by the root for which this thread waits. Thread-safe.
class burials {
public:
    burials() noexcept = default;
    burials(const burials&) = delete;
    burials& operator=(const burials&) = delete;

    /// Adds a coroutine that must be abandoned, but that cannot be destroyed inside the current call. Wakes
    /// all threads that are in root_wait::wait() for this context.
    void add(task& refused) noexcept;
    /// Abandons all coroutines in the list. Does nothing if the calling thread is inside a call that passes a
    /// coroutine to an executor. Inside such a call, each abandoned coroutine would be added to the list
    /// again.
    void end_all() noexcept;
    /// Returns whether the list is empty. The result is only a hint. The call has no memory ordering.
    [[nodiscard]] bool is_empty() const noexcept { return newest_.load(sys::relaxed) == nullptr; }

    /// Empties the list without abandoning the coroutines. Later calls of add() do nothing. Called at the end
    /// of the context. The context then destroys all its root coroutines, and with them the buried
    /// coroutines. When close() returns, no other thread is abandoning a coroutine of the list. Aborts the
    /// program if the calling thread is abandoning one.
    void close() noexcept;

private:
    friend class root_wait;
    class ending;

    [[nodiscard]] task* take() noexcept;
    void finish_one() noexcept;

    [[nodiscard]] bool is_left_behind() const noexcept { return generation_ != sys::fork_generation(); }

    sys::process_lock lock_;
    const std::uint16_t generation_ = sys::fork_generation();
    sys::atomic<task*> newest_{nullptr};    // the newest task; its queued_at points to the next task
    sys::atomic<std::uint32_t> at_work_{0}; // number of tasks being abandoned; written under lock_
    bool is_closed_ = false;                // lock_ guards is_closed_ and waits_
    root_wait* waits_ = nullptr;
};

/// The wait of a thread for the end of a root coroutine. While the thread waits, it abandons the buried
/// coroutines of the context. A root_wait lies on the stack of the waiting thread.
class root_wait {
public:
    explicit root_wait(std::shared_ptr<burials> of) noexcept;
    /// The call of wait() must have returned.
    ~root_wait();
    root_wait(const root_wait&) = delete;
    root_wait& operator=(const root_wait&) = delete;

    /// An object in the frame of the root coroutine. The destructor of this object tells the root_wait that
    /// the root has ended. The root does not access the root_wait afterwards.
    class root_end {
    public:
        explicit root_end(root_wait& told) noexcept : buried_(told.buried_), told_(told) {}
        root_end(root_end&& other) noexcept = default;
        root_end& operator=(root_end&&) = delete;
        ~root_end();

    private:
        std::shared_ptr<burials> buried_; // null after a move from this object
        root_wait& told_;
    };

    /// Waits until the root_end is destroyed. The thread waits in the same way as in future::wait().
    void wait() noexcept;

private:
    friend class burials;

    /// Represents the next event for which the thread waits. The event is the end of the root coroutine, or a
    /// new coroutine in the list. Another thread completes the event under the lock of the list, and does not
    /// access the event after it has released the lock.
    class news final : public completion {
    public:
        news() noexcept : completion(&answer, 2) {}

    private:
        static const char* answer(task* self, task_request request);
    };

    void tell() noexcept;
    [[nodiscard]] bool begin_round() noexcept;

    const std::shared_ptr<burials> buried_;
    // The lock of `buried_` guards the following data members.
    root_wait* next_ = nullptr;
    root_wait* prev_ = nullptr;
    std::optional<news> news_{std::in_place};
    bool is_told_ = false;
    bool is_over_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
