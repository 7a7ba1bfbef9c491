/// The policies of a read-write lock. A policy defines which waiting thread enters first. For each policy,
/// this header defines the rules of the state_lock that the read-write lock uses.
///
/// Part: sync. Used by: programs, rw_mutex. The design follows the read-write lock of Ohki and Kuno, with its
/// variants (a) and (b). The lock of Ohki and Kuno counts waiting writers. In ekiden, the function settle
/// replaces this counter. ekiden adds the policy `fifo`, upgrades, and a limit of the number of readers.
/// ekiden also adds turns in which waiting readers enter under `writer_first`.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// The policy of a read-write lock. Under each policy, no new reader enters while a writer waits and readers
/// are inside, so writers do not starve. There is one exception: under `writer_first`, waiting readers enter
/// after 8,000 writers in a row. Other threads can overtake a waiting thread only for a limited time (see
/// state_rules::hand_over_after).
enum class rw_policy : std::uint8_t {
    /// When the lock becomes free, the first thread that tries to enter gets the lock.
    basic,
    /// When the last reader has left, a waiting writer gets the lock. When a writer has left, the first
    /// thread that tries to enter gets the lock.
    writer_next,
    /// No reader enters while a writer waits. But after 8,000 writers in a row, the waiting readers enter.
    writer_first,
    /// Threads lock in the order of arrival. Readers enter together if no writer has arrived between them.
    fifo
};

/// The states of a read-write lock. While readers are inside, the payload is the number of readers. While no
/// reader is inside, the payload is the number of writers that have entered in a row.
enum class rw_state : std::uint8_t {
    /// No thread is inside.
    free,
    /// Readers are inside, and more readers may enter.
    read,
    /// Readers are inside, and the number of readers has reached its limit.
    full,
    /// Readers are inside, a writer waits, and no reader may enter. Ohki and Kuno call this state RTOW.
    drain,
    /// No thread is inside, and only a writer may enter. Ohki and Kuno call this state WONLY.
    writer_only,
    /// A writer is inside.
    write,
    /// Readers are inside, and one more reader waits to become the writer. The payload does not count the
    /// waiting reader.
    upgrading,
    /// No thread is inside, and only the upgrading reader may enter.
    upgrade,
    /// No thread is inside, and only readers may enter, because waiting readers have their turn.
    reader_only,
    /// Readers are inside, and waiting readers may enter even if writers wait.
    readers_turn
};

/// The rules of a read-write lock: its masks of states, and the functions that compute the next state.
template <rw_policy Policy>
struct rw_rules {
    template <class... States>
    static constexpr state_lock::mask any_of(States... states) noexcept {
        return ((state_lock::mask{1} << static_cast<unsigned>(states)) | ...);
    }
    static constexpr state_value value(rw_state state, std::uint32_t readers = 0) noexcept {
        return {static_cast<std::uint32_t>(state), readers};
    }
    static constexpr rw_state reading(std::uint32_t readers) noexcept {
        return readers == state_lock::max_payload ? rw_state::full : rw_state::read;
    }

    static constexpr state_lock::mask reader_enters =
        any_of(rw_state::free, rw_state::read, rw_state::reader_only, rw_state::readers_turn);
    static constexpr state_lock::mask writer_enters = any_of(rw_state::free, rw_state::writer_only);
    static constexpr state_lock::mask nobody_inside =
        any_of(rw_state::free, rw_state::writer_only, rw_state::reader_only);
    static constexpr state_lock::mask reader_inside =
        any_of(rw_state::read, rw_state::full, rw_state::drain, rw_state::upgrading, rw_state::readers_turn);

    /// Under the policy writer_first, waiting readers enter after this number of writers in a row. A smaller
    /// number would be expensive, because all readers have to wait again after each turn of the readers.
#if defined(EKIDEN_CHECKING)
    static constexpr std::uint32_t writers_in_turn = 1; // so that a model reaches the turn of the readers
#else
    static constexpr std::uint32_t writers_in_turn = 8000;
#endif
    static_assert(writers_in_turn <= state_lock::max_payload);

    static constexpr rw_state after_last_reader =
        Policy == rw_policy::writer_next || Policy == rw_policy::writer_first ? rw_state::writer_only
                                                                              : rw_state::free;

    static constexpr std::uint32_t settle(state_value now, state_lock::mask queued) noexcept {
        const bool writer_waits = (queued & any_of(rw_state::writer_only)) != 0;
        const bool reader_waits = (queued & any_of(rw_state::read)) != 0;
        const auto next_state = [&] {
            if (Policy != rw_policy::writer_first || !writer_waits) return rw_state::free;
            return reader_waits && now.payload == writers_in_turn ? rw_state::reader_only
                                                                  : rw_state::writer_only;
        };
        const bool close = Policy == rw_policy::fifo ? (queued & any_of(rw_state::free)) != 0 : writer_waits;
        auto state = static_cast<rw_state>(now.state);
        switch (state) {
        case rw_state::free:
            state = next_state();
            break;
        case rw_state::reader_only:
            if (!reader_waits) state = next_state();
            break;
        case rw_state::readers_turn:
            if (!reader_waits) state = close ? rw_state::drain : reading(now.payload);
            break;
        case rw_state::writer_only:
            if (!writer_waits) state = rw_state::free;
            break;
        case rw_state::read:
        case rw_state::full:
        case rw_state::drain:
            state = close ? rw_state::drain : reading(now.payload);
            break;
        default:
            break;
        }
        return static_cast<std::uint32_t>(state);
    }

    /// Returns the result of settle for a queue with one more waiter. This function changes the state only if
    /// readers hold the lock. In this case, the new state can be `drain`, in which no further reader may
    /// enter.
    static constexpr std::uint32_t close(state_value now, state_lock::mask arriving) noexcept {
        const auto state = static_cast<rw_state>(now.state);
        if (state == rw_state::read || state == rw_state::full) return settle(now, arriving);
        return now.state;
    }

    static constexpr state_rules rules{
        .settle = settle,
        .close = close,
        .hand_over_after =
            Policy == rw_policy::fifo ? std::chrono::nanoseconds(0) : std::chrono::microseconds(500),
        .exact = Policy == rw_policy::writer_first,
        .queue_order = Policy == rw_policy::fifo,
        .name = "an rw_mutex",
    };
};

} // namespace ekiden::inline EKIDEN_ABI
