/// The coroutines that a context has spawned and that have not ended, so that none outlives it.
///
/// Part: async. Used by: roots of coroutines (co_spawn), and by what cannot come home. Private.
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

/// Thread-safe, but shutdown() and clear(). A context ends what is left here, by clear(), when no thread runs
/// its tasks any more, and it refuses new ones; its other services are there yet.
class coroutine_service final : public execution_context::service {
public:
    explicit coroutine_service(execution_context& owner) noexcept : service(owner) {}

    /// `fresh` is ended with the context, unless it ends earlier.
    void add(root_entry& fresh) noexcept;
    void remove(root_entry& ended) noexcept;

    /// An executor has refused `refused`, a coroutine below a root of this context, on a stack where it
    /// cannot be destroyed. The context runs it soon, which ends it. If the context takes no more, it is
    /// abandoned in here, or this throws. The last touch of the coroutine and of the context.
    void end_soon(task& refused) { (void)hand_over(&refused); }
    /// The context has refused it, too: a thread in sync_wait() abandons it, the next add(), or the context
    /// as it shuts down. It is of no use once the root has been destroyed, and the context's end does that.
    void bury(task& refused) noexcept { buried_->add(refused); }
    void end_buried() noexcept { buried_->end_all(); }
    /// For threads that wait for a root, and may do so yet when the context has ended.
    [[nodiscard]] const std::shared_ptr<burials>& buried() const noexcept { return buried_; }

    /// await_chain() of every root. While none of them runs. Throws std::bad_alloc.
    [[nodiscard]] std::string describe();

private:
    void shutdown() noexcept override;
    void clear() noexcept override;

    // Roots are spread, so that threads that spawn do not meet.
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
