/// The list of the coroutines that were spawned on a context and have not ended. When the context ends, it
/// destroys these coroutines. So no coroutine outlives the context on which it was spawned.
///
/// Part: async. Used by: root_coroutine, resume_loop, async_scope. This header is private.
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

/// A guard object. While the guard exists, the calling thread destroys coroutines that have not ended. Either
/// an executor has dropped these coroutines, or their context is being destroyed.
class tear_down {
public:
    /// `ending` is the service of the context that is being destroyed, or null if no context is being
    /// destroyed.
    explicit tear_down(const coroutine_service* ending) noexcept;
    ~tear_down();
    tear_down(const tear_down&) = delete;
    tear_down& operator=(const tear_down&) = delete;

    /// Describes the tear_down objects of the calling thread. `is_here` is true if the thread has such an
    /// object. `ending` is the service of the outermost tear_down object that has a service, or null.
    struct record {
        bool is_here;
        const coroutine_service* ending;
    };
    [[nodiscard]] static record here() noexcept;

private:
    const record outer_;
};

/// The entry of a root coroutine in the list of its context. The entry is a base of the root's promise.
class root_entry {
public:
    explicit root_entry(coroutine_promise& root) noexcept : root_(root) {}
    /// Removes the entry from the list.
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

/// The service of a context that owns the coroutines of the context. When no thread runs tasks of the context
/// any more, the context calls clear(), which destroys the remaining coroutines. The other services of the
/// context exist until clear() has returned. All functions are thread-safe, except shutdown() and clear().
class coroutine_service final : public execution_context::service {
public:
    explicit coroutine_service(execution_context& owner) noexcept : service(owner) {}

    /// Adds a root coroutine to the list. When the context ends, it destroys all root coroutines in the list.
    void add(root_entry& fresh) noexcept;
    /// Has no effect in the child of a fork() if the root was added before the fork.
    void remove(root_entry& ended) noexcept;

    /// Posts `refused` to the context. The context runs this task, which destroys the coroutine of the task.
    /// Called if an executor has refused a coroutine inside a call in which the coroutine cannot be
    /// destroyed. The root of the coroutine belongs to this context. If the context refuses the task as well,
    /// end_soon() abandons the task, and may throw. The caller must not access the coroutine or the context
    /// afterwards.
    void end_soon(task& refused) { (void)hand_over(&refused); }
    /// Adds `refused` to the list of buried coroutines. The executor of the coroutine and this context have
    /// both refused the coroutine. A thread in sync_wait(), the next add(), or the shutdown of the context
    /// abandons the coroutine. At the latest, the end of the context destroys the coroutine together with its
    /// root.
    void bury(task& refused) noexcept { buried_->add(refused); }
    void end_buried() noexcept { buried_->end_all(); }
    /// Returns the list of the buried coroutines. A thread that waits for the end of a root shares the
    /// ownership of this list, because the wait may outlive the context.
    [[nodiscard]] const std::shared_ptr<burials>& buried() const noexcept { return buried_; }

    /// Returns the texts of await_chain() for all root coroutines. No coroutine of the context may run during
    /// this call. Throws std::bad_alloc.
    [[nodiscard]] std::string describe();

private:
    void shutdown() noexcept override;
    void clear() noexcept override;
    void dump(dump_samples& to) const noexcept override;

    // Root coroutines are spread over several lists, so that threads that spawn coroutines rarely contend for
    // a lock.
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
