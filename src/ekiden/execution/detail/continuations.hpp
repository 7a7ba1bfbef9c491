/// The list of continuations of futures that will run on a context. A context that ends before the result is
/// set cancels them.
///
/// Part: execution. Used by: future::then(). Private.
///
/// The protocol. Two threads compete for a continuation: the thread that sets the result, and the thread that
/// ends the context. One compare-exchange of the phase decides between them [CN1].
///
/// If the result is first, its thread removes the continuation from the list, queues it, ends its outstanding
/// work, and then calls done(). shutdown() waits for done() [CN2], so the context exists until then.
///
/// If the end is first, shutdown() removes the continuation and cancels it. The thread that sets the result
/// then uses the continuation only, not the context.
///
/// A continuation is attached to its result under the lock of its list. So shutdown() finds it attached.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/lock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A continuation in the list of its context, from then() until its result is set or the context ends.
class listed_continuation {
public:
    using function = void (*)(listed_continuation& self) noexcept;

    /// `attach` attaches it to its result, and returns false if the result is set already. It is called under
    /// a lock. `cancel` is called if the context ends first.
    listed_continuation(bool (*attach)(listed_continuation& self) noexcept, function cancel) noexcept
        : attach_(attach), cancel_(cancel) {}
    listed_continuation(const listed_continuation&) = delete;
    listed_continuation& operator=(const listed_continuation&) = delete;

    /// Called when the result is set. Returns true if the caller must queue the continuation; the context
    /// exists until continuations::done(). Returns false if the context has canceled the continuation. Then
    /// the context may have been destroyed.
    [[nodiscard]] bool try_begin() noexcept {
        std::uint32_t expected = waits;
        // [CN1] Relaxed: publishes nothing. Pairs with try_cancel(): only one of the two succeeds.
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
    // Under the lock of its list.
    sys::cell<listed_continuation*> next_{nullptr};
    sys::cell<listed_continuation*> previous_{nullptr};
};

/// The lists of one context.
class continuations final : public execution_context::service {
public:
    explicit continuations(execution_context& owner) noexcept : service(owner) {}

    enum class state : std::uint8_t {
        waits,  ///< listed
        ready,  ///< listed, and the result is set already
        refused ///< not listed, because the context has ended
    };
    [[nodiscard]] state add(listed_continuation& added) noexcept;

    /// Removes a continuation after its try_begin(). The continuation may be destroyed after this call.
    void remove(listed_continuation& begun) noexcept;
    /// Ends the use of the context, after remove(). `begun` is only an address.
    void done(const listed_continuation* begun) noexcept;

private:
    struct alignas(sys::isolation) list {
        sys::slow_lock lock;
        sys::cell<bool> is_closed{false};                   // under lock
        sys::cell<listed_continuation*> newest{nullptr};    // under lock
        sys::atomic<std::size_t> present{0};                // continuations before done() or cancel
        void unlink(listed_continuation& removed) noexcept; // under lock
        listed_continuation* cancel_all() noexcept;
    };
    static constexpr unsigned list_bits = 4; // several lists, so that threads rarely contend

    [[nodiscard]] list& list_of(const listed_continuation* one) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(one);
        return lists_[static_cast<std::uint64_t>(address) * 0x9E3779B97F4A7C15U >> (64 - list_bits)];
    }
    void shutdown() noexcept override;

    std::array<list, std::size_t{1} << list_bits> lists_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
