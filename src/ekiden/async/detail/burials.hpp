/// The list of coroutines that both their executor and the context of their root have refused. Threads that
/// wait for the end of a root also destroy the coroutines in this list.
///
/// Part: async. Used by: coroutine_service, sync_wait. This header is private.
#pragma once

#include <ekiden/future/detail/completion.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

class root_wait;

/// The refused coroutines of one context. Waiting threads share the ownership of the list, because the
/// context may end before the wait. Thread-safe.
class burials {
public:
    burials() noexcept = default;
    burials(const burials&) = delete;
    burials& operator=(const burials&) = delete;

    /// Adds a coroutine that must be abandoned, but not on this stack. Wakes the threads that wait for roots.
    void add(task& refused) noexcept;
    /// Abandons all coroutines in the list. Does nothing if the calling thread is passing a coroutine to an
    /// executor, because each abandoned coroutine would then be added to the list again.
    void end_all() noexcept;
    /// Returns whether the list is empty. The result is only a hint, and gives no memory ordering.
    [[nodiscard]] bool is_empty() const noexcept { return newest_.load(sys::relaxed) == nullptr; }

    /// Empties the list without abandoning the coroutines, and accepts no new ones. Called at the end of the
    /// context, which destroys all roots. When close() returns, no other thread is abandoning a coroutine of
    /// the list.
    void close() noexcept;

private:
    friend class root_wait;

    [[nodiscard]] task* take() noexcept;
    void finish_one() noexcept;

    sys::slow_lock lock_;
    sys::atomic<task*> newest_{nullptr};    // the head of a list, linked by queued_at
    sys::atomic<std::uint32_t> at_work_{0}; // tasks that are being abandoned; written under lock_
    bool is_closed_ = false;                // lock_ guards is_closed_ and waits_
    root_wait* waits_ = nullptr;
};

/// The wait of a thread for the end of a root. Meanwhile the thread abandons the refused coroutines of the
/// context. The object lies on the stack of the thread.
class root_wait {
public:
    explicit root_wait(std::shared_ptr<burials> of) noexcept;
    /// The wait must have ended.
    ~root_wait();
    root_wait(const root_wait&) = delete;
    root_wait& operator=(const root_wait&) = delete;

    /// An object in the frame of the root. Its destructor reports the end of the root to the root_wait. This
    /// report is the last access of the root to the root_wait.
    class root_end {
    public:
        explicit root_end(root_wait& told) noexcept : buried_(told.buried_), told_(told) {}
        root_end(root_end&& other) noexcept = default;
        root_end& operator=(root_end&&) = delete;
        ~root_end();

    private:
        std::shared_ptr<burials> buried_; // null if moved from
        root_wait& told_;
    };

    /// Waits until the root_end is destroyed. The thread waits as in future::wait().
    void wait() noexcept;

private:
    friend class burials;

    /// The next event for which the thread waits: the end of the root, or a refused coroutine. The event is
    /// completed under the lock, so the completing thread does not access it after it has released the lock.
    class news final : public completion {
    public:
        news() noexcept : completion(&answer, 2) {}

    private:
        static const char* answer(task* self, task_request request);
    };

    void tell() noexcept;
    [[nodiscard]] bool begin_round() noexcept;

    const std::shared_ptr<burials> buried_;
    // The lock of `buried_` guards the following members.
    root_wait* next_ = nullptr;
    root_wait* prev_ = nullptr;
    std::optional<news> news_{std::in_place};
    bool is_told_ = false;
    bool is_over_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
