/// Continuations of futures that wait for a result, listed with the context on which they are to run: when
/// the context ends first, it cancels them.
///
/// Part: execution. Used by: future::then(). Private.
///
/// The protocol. The thread that brings the result and the end of the context meet in the phase of the
/// continuation: one compare-exchange decides between them [CN1]. If the result is first, its thread takes
/// the continuation out of the list, queues it, ends its outstanding work, and then calls done(). shutdown()
/// waits for that [CN2], so the context stays until then. If the end is first, shutdown() takes the
/// continuation out and cancels it. The thread that brings the result then touches the continuation only, not
/// the context. A continuation is attached to its result under the lock of its list, so shutdown() finds it
/// attached.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/lock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::detail {

/// In the list of its context from then() until its result is there or the context ends.
class listed_continuation {
public:
    using function = void (*)(listed_continuation& self) noexcept;

    /// `attach` asks for the result: false if it is there already. It is called under a lock. `cancel` is
    /// called at the context's end, instead of everything else.
    listed_continuation(bool (*attach)(listed_continuation& self) noexcept, function cancel) noexcept
        : attach_(attach), cancel_(cancel) {}
    listed_continuation(const listed_continuation&) = delete;
    listed_continuation& operator=(const listed_continuation&) = delete;

    /// The result is there. True: the caller queues the continuation, and the context stays until
    /// continuations::done(). False: the context has canceled it, and must not be touched.
    [[nodiscard]] bool try_begin() noexcept {
        std::uint32_t expected = waits;
        // [CN1] relaxed: only one of the two goes on, and each knows all that it needs.
        return phase_.compare_exchange_strong(expected, begun, sys::relaxed, sys::relaxed);
    }

protected:
    ~listed_continuation() = default;

private:
    friend class continuations;

    enum : std::uint32_t { waits, begun, canceled };

    [[nodiscard]] bool try_cancel() noexcept {
        std::uint32_t expected = waits;
        return phase_.compare_exchange_strong(expected, canceled, sys::relaxed, sys::relaxed); // [CN1]
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
        ready,  ///< listed, and the result is there already
        refused ///< not listed: the context has ended
    };
    [[nodiscard]] state add(listed_continuation& added) noexcept;

    /// After its try_begin(). The continuation may end after this call.
    void remove(listed_continuation& begun) noexcept;
    /// After remove(), and everything that was done with the context. `begun` is only an address.
    void done(const listed_continuation* begun) noexcept;

private:
    struct alignas(sys::isolation) list {
        sys::slow_lock lock;
        sys::cell<bool> is_closed{false};                   // under lock
        sys::cell<listed_continuation*> newest{nullptr};    // under lock
        sys::atomic<std::size_t> present{0};                // until done(), or canceled
        void unlink(listed_continuation& removed) noexcept; // under lock
        listed_continuation* cancel_all() noexcept;
    };
    static constexpr unsigned list_bits = 4; // so that threads seldom meet

    [[nodiscard]] list& list_of(const listed_continuation* one) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(one);
        return lists_[static_cast<std::uint64_t>(address) * 0x9E3779B97F4A7C15U >> (64 - list_bits)];
    }
    void shutdown() noexcept override;

    std::array<list, std::size_t{1} << list_bits> lists_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
