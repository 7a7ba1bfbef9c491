/// Coroutines that neither their executor nor the context of their root takes, and the threads that may end
/// them.
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

/// Of one context, which may end earlier: the threads that wait share it. Thread-safe.
class burials {
public:
    burials() noexcept = default;
    burials(const burials&) = delete;
    burials& operator=(const burials&) = delete;

    /// `refused` is to be abandoned, but not on this stack. Wakes the threads that wait for roots.
    void add(task& refused) noexcept;
    /// Abandons what there is. Not while this thread gives a coroutine to an executor: what is abandoned
    /// there only comes back.
    void end_all() noexcept;
    /// A hint.
    [[nodiscard]] bool is_empty() const noexcept { return newest_.load(sys::relaxed) == nullptr; }

    /// By the context's end, which destroys all roots: forgets what there is, and takes no more. When it
    /// returns, no other thread abandons anything.
    void close() noexcept;

private:
    friend class root_wait;

    [[nodiscard]] task* take() noexcept;
    void finish_one() noexcept;

    sys::slow_lock lock_;
    sys::atomic<task*> newest_{nullptr};    // a list, linked by queued_at
    sys::atomic<std::uint32_t> at_work_{0}; // how many tasks are being abandoned; written with the lock
    bool is_closed_ = false;                // this and the list of waits: with the lock
    root_wait* waits_ = nullptr;
};

/// A thread waits for the end of a root, and ends meanwhile what is buried in its context. Lies on the stack
/// of that thread.
class root_wait {
public:
    explicit root_wait(std::shared_ptr<burials> of) noexcept;
    /// Of a wait that is over.
    ~root_wait();
    root_wait(const root_wait&) = delete;
    root_wait& operator=(const root_wait&) = delete;

    /// Lies in the frame of the root, and tells its end. Its destructor is the last touch of the wait.
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

    /// Returns after the end of the root_end. The thread waits as for a future.
    void wait() noexcept;

private:
    friend class burials;

    /// What the thread waits for next: an end, or a burial. Completed with the lock, and so never touched
    /// after that by the thread that completes it.
    class news final : public completion {
    public:
        news() noexcept : completion(&answer, 2) {}

    private:
        static const char* answer(task* self, task_request request);
    };

    void tell() noexcept;
    [[nodiscard]] bool begin_round() noexcept;

    const std::shared_ptr<burials> buried_;
    // With the lock of `buried_`.
    root_wait* next_ = nullptr;
    root_wait* prev_ = nullptr;
    std::optional<news> news_{std::in_place};
    bool is_told_ = false;
    bool is_over_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
