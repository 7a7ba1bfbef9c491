/// The coroutines that a context has spawned and that have not ended, so that none outlives it.
///
/// Part: async. Used by: roots of coroutines (co_spawn), and by what cannot come home. Private.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstddef>
#include <string>

namespace ekiden::inline EKIDEN_ABI {
class coroutine_promise;
}

namespace ekiden::inline EKIDEN_ABI::detail {

class coroutine_service;

/// The calling thread destroys coroutines that have not ended: some that an executor has dropped, or all that
/// are left of a context, in which nothing runs any more.
class tear_down {
public:
    /// `ending`: the service of a context that ends, or null.
    explicit tear_down(const coroutine_service* ending) noexcept;
    ~tear_down();
    tear_down(const tear_down&) = delete;
    tear_down& operator=(const tear_down&) = delete;

    /// Whether there is one in this thread, and what the outermost one ends.
    struct record {
        bool is_here;
        const coroutine_service* ending;
    };
    [[nodiscard]] static record here() noexcept;

private:
    const record outer_;
};

/// A root in the list of its context. Lies in its promise.
class root_entry {
public:
    /// `destroy` ends the root's frame, and the entry with it.
    explicit root_entry(coroutine_promise& root, void (*destroy)(root_entry&) noexcept) noexcept
        : root_(root), destroy_(destroy) {}
    /// Takes itself out.
    ~root_entry();
    root_entry(const root_entry&) = delete;
    root_entry& operator=(const root_entry&) = delete;

private:
    friend class coroutine_service;

    coroutine_promise& root_;
    void (*const destroy_)(root_entry&) noexcept;
    coroutine_service* service_ = nullptr;
    root_entry* next_ = nullptr;
    root_entry* prev_ = nullptr;
};

/// Thread-safe, but shutdown() and the destructor. A context ends what is left here when no thread runs its
/// tasks any more, and it refuses new ones.
class coroutine_service final : public execution_context::service {
public:
    explicit coroutine_service(execution_context& owner) noexcept : service(owner) {}
    ~coroutine_service() override;

    /// `fresh` is ended with the context, unless it ends earlier.
    void add(root_entry& fresh) noexcept;
    void remove(root_entry& ended) noexcept;

    /// The executor has refused `refused`, a coroutine, on a stack where it cannot be abandoned. It will be
    /// by end_buried(), which is called with each add() and as the context shuts down. It lies in the frame
    /// of a root of this context, or of what that waits for: the context's end destroys it with the root.
    void bury(task& refused) noexcept;
    /// The same for a task that lies elsewhere: the context's end abandons it.
    void bury_loose(task& refused) noexcept;
    void end_buried() noexcept;

    /// await_chain() of every root. While none of them runs. Throws std::bad_alloc.
    [[nodiscard]] std::string describe();

private:
    void shutdown() noexcept override;

    // Roots are spread, so that threads that spawn do not meet.
    static constexpr std::size_t shards = 16;
    struct alignas(sys::isolation) shard {
        sys::slow_lock lock;
        root_entry* first = nullptr;
    };
    [[nodiscard]] shard& shard_of(const root_entry& entry) noexcept;

    shard shards_[shards];
    /// Lists of tasks, the newest first.
    using list = sys::atomic<task*>;
    [[nodiscard]] task* take_buried() noexcept;

    sys::slow_lock buried_lock_;
    list buried_{nullptr};
    list buried_loose_{nullptr};
    bool is_ending_ = false; // with the lock: the frames are being destroyed, and all that lies in them
};

} // namespace ekiden::inline EKIDEN_ABI::detail
