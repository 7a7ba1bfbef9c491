/// Coroutines that their executor and the context of their root have refused, and the threads that may
/// destroy them.
///
/// Part: async. Used by: the service of coroutines, sync_wait. Private.
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

/// The refused coroutines of one context. Waiting threads share it, because the context may end earlier.
/// Thread-safe.
class burials {
public:
    burials() noexcept = default;
    burials(const burials&) = delete;
    burials& operator=(const burials&) = delete;

    /// Adds a coroutine that must be abandoned, but not on this stack. Wakes the threads that wait for roots.
    void add(task& refused) noexcept;
    /// Abandons all coroutines. Does nothing while this thread passes a coroutine to an executor, because a
    /// coroutine that is abandoned there would only be added again.
    void end_all() noexcept;
    /// Returns whether there is none. It is a hint, and orders nothing.
    [[nodiscard]] bool is_empty() const noexcept { return newest_.load(sys::relaxed) == nullptr; }

    /// Forgets all coroutines and accepts no more. Called at the end of the context, which destroys all
    /// roots. When it returns, no other thread abandons a coroutine.
    void close() noexcept;

private:
    friend class root_wait;

    [[nodiscard]] task* take() noexcept;
    void finish_one() noexcept;

    sys::slow_lock lock_;
    sys::atomic<task*> newest_{nullptr};    // a list, linked by queued_at
    sys::atomic<std::uint32_t> at_work_{0}; // the number of tasks being abandoned; written under the lock
    bool is_closed_ = false;                // guarded by the lock, like waits_
    root_wait* waits_ = nullptr;
};

/// A thread's wait for the end of a root. Meanwhile the thread abandons the refused coroutines of the
/// context. Lies on the stack of the thread.
class root_wait {
public:
    explicit root_wait(std::shared_ptr<burials> of) noexcept;
    /// The wait must be over.
    ~root_wait();
    root_wait(const root_wait&) = delete;
    root_wait& operator=(const root_wait&) = delete;

    /// Lies in the frame of the root. Its destructor reports the end of the root, and is the last touch of
    /// the wait.
    class root_end {
    public:
        explicit root_end(root_wait& told) noexcept : buried_(told.buried_), told_(told) {}
        root_end(root_end&& other) noexcept = default;
        root_end& operator=(root_end&&) = delete;
        ~root_end();

    private:
        std::shared_ptr<burials> buried_; // null: moved from
        root_wait& told_;
    };

    /// Waits until the root_end is destroyed. The thread waits like for a future.
    void wait() noexcept;

private:
    friend class burials;

    /// The next event: the end of the root, or a refused coroutine. It is completed under the lock, so the
    /// thread that completes it does not touch it after the lock is released.
    class news final : public completion {
    public:
        news() noexcept : completion(&answer, 2) {}

    private:
        static const char* answer(task* self, task_request request);
    };

    void tell() noexcept;
    [[nodiscard]] bool begin_round() noexcept;

    const std::shared_ptr<burials> buried_;
    // Guarded by the lock of `buried_`:
    root_wait* next_ = nullptr;
    root_wait* prev_ = nullptr;
    std::optional<news> news_{std::in_place};
    bool is_told_ = false;
    bool is_over_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
