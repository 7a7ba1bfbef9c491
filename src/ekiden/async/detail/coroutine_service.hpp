/// The list of the coroutines that were spawned on a context and have not ended. No coroutine outlives its
/// context.
///
/// Part: async. Used by: roots of coroutines (co_spawn), and refused coroutines. Private.
#pragma once

#include <ekiden/async/detail/burials.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace ekiden::inline EKIDEN_ABI {
class coroutine_promise;
}

namespace ekiden::inline EKIDEN_ABI::detail {

class coroutine_service;

/// A scope in which the calling thread destroys coroutines that have not ended. An executor has dropped them,
/// or their context is being destroyed and runs nothing any more.
class tear_down {
public:
    /// `ending` is the service of the context that is being destroyed, or null.
    explicit tear_down(const coroutine_service* ending) noexcept;
    ~tear_down();
    tear_down(const tear_down&) = delete;
    tear_down& operator=(const tear_down&) = delete;

    /// Whether the thread is in such a scope, and the service of the outermost scope that has one.
    struct record {
        bool is_here;
        const coroutine_service* ending;
    };
    [[nodiscard]] static record here() noexcept;

private:
    const record outer_;
};

/// A root in the list of its context. Lies in the promise of the root.
class root_entry {
public:
    explicit root_entry(coroutine_promise& root) noexcept : root_(root) {}
    /// Removes itself from the list.
    ~root_entry();
    root_entry(const root_entry&) = delete;
    root_entry& operator=(const root_entry&) = delete;

private:
    friend class coroutine_service;

    coroutine_promise& root_;
    coroutine_service* service_ = nullptr;
    root_entry* next_ = nullptr;
    root_entry* prev_ = nullptr;
};

/// Thread-safe, except shutdown() and clear(). When no thread runs tasks of the context any more, the context
/// calls clear(), which destroys the coroutines that are left. The other services exist until then.
class coroutine_service final : public execution_context::service {
public:
    explicit coroutine_service(execution_context& owner) noexcept : service(owner) {}

    /// Adds a root. It is destroyed with the context, unless it ends earlier.
    void add(root_entry& fresh) noexcept;
    void remove(root_entry& ended) noexcept;

    /// Posts `refused` to the context, which runs it and so destroys it. It is a coroutine below a root of
    /// this context, which an executor has refused on a stack where it cannot be destroyed. If the context
    /// refuses it, too, it is abandoned inside the call, or the call throws. The caller must not touch the
    /// coroutine or the context afterwards.
    void end_soon(task& refused) { (void)hand_over(&refused); }
    /// Keeps a coroutine that the context has refused, too. A thread in sync_wait(), the next add(), or the
    /// shutdown of the context abandons it. The end of the context destroys its root in any case.
    void bury(task& refused) noexcept { buried_->add(refused); }
    void end_buried() noexcept { buried_->end_all(); }
    /// Returns the list of those coroutines, for threads that wait for a root and may outlive the context.
    [[nodiscard]] const std::shared_ptr<burials>& buried() const noexcept { return buried_; }

    /// Returns await_chain() of every root. No root may run meanwhile. Throws std::bad_alloc.
    [[nodiscard]] std::string describe();

private:
    void shutdown() noexcept override;
    void clear() noexcept override;

    // Roots are spread over several lists, so that spawning threads rarely contend for a lock.
    static constexpr std::size_t shards = 16;
    struct alignas(sys::isolation) shard {
        sys::slow_lock lock;
        root_entry* first = nullptr;
    };
    [[nodiscard]] shard& shard_of(const root_entry& entry) noexcept;

    shard shards_[shards];
    const std::shared_ptr<burials> buried_ = std::make_shared<burials>();
};

} // namespace ekiden::inline EKIDEN_ABI::detail
