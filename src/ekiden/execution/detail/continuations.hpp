/// Stores the continuations of futures that will run on a context when their results are set. When the
/// context ends, it cancels the continuations whose results have not been set.
///
/// Part: execution. Used by: future::then(). Private.
///
/// The protocol. Two threads compete for a continuation: the thread that sets the result, and the thread that
/// ends the context. One compare-exchange of the phase of the continuation decides between these two threads
/// [CN1].
///
/// If the result is set before the context ends, the thread that sets the result removes the continuation
/// from the list and queues the continuation. A `use` object represents these steps. The function shutdown()
/// waits until the `use` objects of other threads are destroyed [CN2], so the context exists until then. If
/// the executor refuses the continuation, the continuation also ends before its `use` object. So
/// shutdown() returns after each continuation that another thread ends has ended.
///
/// The callable of a refused continuation may own the context. Then shutdown() runs in this thread, and takes
/// the thread's own `use` objects out of the count before it waits.
///
/// If the context ends before the result is set, shutdown() removes the continuation from the list and
/// cancels the continuation. The thread that sets the result later uses the continuation, but does not use
/// the context.
///
/// In the child of a fork(), the threads of the parent process do not exist, and may have held locks of
/// lists. So a `use` object does not change a list of the parent process, and no function uses these lists.
///
/// A continuation is attached to its result under the lock of its list. So every continuation that shutdown()
/// finds in the list is attached.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/lock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A continuation that is in a list of its context. The continuation leaves the list when its result is set
/// or the context ends.
class listed_continuation {
public:
    using function = void (*)(listed_continuation& self) noexcept;

    /// `attach` must attach the continuation to its result. `attach` returns false if the result is already
    /// set. The lock of the list is held while `attach` runs. `cancel` is called if the context ends before
    /// the result is set.
    listed_continuation(bool (*attach)(listed_continuation& self) noexcept, function cancel) noexcept
        : attach_(attach), cancel_(cancel) {}
    listed_continuation(const listed_continuation&) = delete;
    listed_continuation& operator=(const listed_continuation&) = delete;

    /// The thread that sets the result calls try_begin(). If try_begin() returns true, the caller must queue
    /// the continuation under a continuations::use, and the context exists until the `use` is constructed. If
    /// try_begin() returns false, the context has canceled the continuation, and the context may have been
    /// destroyed.
    [[nodiscard]] bool try_begin() noexcept {
        std::uint32_t expected = waits;
        // [CN1] Relaxed is enough, because this compare-exchange publishes no data. It competes with the
        // compare-exchange in try_cancel(). Only one of the two succeeds.
        return phase_.compare_exchange_strong(expected, begun, sys::relaxed, sys::relaxed);
    }

protected:
    ~listed_continuation() = default;

private:
    friend class continuations;

    enum : std::uint32_t { waits, begun, canceled };

    [[nodiscard]] bool try_cancel() noexcept {
        std::uint32_t expected = waits;
        return phase_.compare_exchange_strong(expected, canceled, sys::relaxed,
                                              sys::relaxed); // [CN1] Relaxed.
    }

    bool (*const attach_)(listed_continuation& self) noexcept;
    const function cancel_;
    sys::atomic<std::uint32_t> phase_{waits};
    // The lock of the list guards these two links.
    sys::cell<listed_continuation*> next_{nullptr};
    sys::cell<listed_continuation*> previous_{nullptr};
};

/// The lists of the continuations of one context.
class continuations final : public execution_context::service {
public:
    explicit continuations(execution_context& owner) noexcept : service(owner) {}

    enum class state : std::uint8_t {
        waits,  ///< the continuation is in the list
        ready,  ///< the continuation is in the list, and its result is set already
        refused ///< the continuation is not in the list, because the context has ended
    };
    [[nodiscard]] state add(listed_continuation& added) noexcept;

    /// Keeps the context alive while the calling thread queues or ends a continuation.
    class use {
    public:
        /// Removes `begun` from the list. The caller must call try_begin() of the continuation first, and the
        /// result must be true. The continuation may be destroyed before the `use`.
        use(continuations& of, listed_continuation& begun) noexcept;
        ~use();
        use(const use&) = delete;
        use& operator=(const use&) = delete;

    private:
        friend class continuations;

        continuations* of_; // null if shutdown() has run in this thread meanwhile
        const listed_continuation* const begun_;
        use* const outer_;
    };

private:
    struct of_thread {
        use* innermost;
    };
    struct alignas(sys::isolation) list {
        sys::slow_lock lock;
        sys::cell<bool> is_closed{false};                   // under lock
        sys::cell<listed_continuation*> newest{nullptr};    // under lock
        sys::atomic<std::size_t> present{0};                // number of listed or begun continuations
        void unlink(listed_continuation& removed) noexcept; // under lock
        listed_continuation* cancel_all() noexcept;
    };
    void done(const use& ended) noexcept;

    static constexpr unsigned list_bits = 4; // there are 16 lists, so that threads rarely contend

    [[nodiscard]] list& list_of(const listed_continuation* one) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(one);
        return lists_[static_cast<std::uint64_t>(address) * 0x9E3779B97F4A7C15U >> (64 - list_bits)];
    }
    void shutdown() noexcept override;

    std::array<list, std::size_t{1} << list_bits> lists_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
