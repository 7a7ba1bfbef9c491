/// The policies of a read-write lock: they define which waiting thread enters first. For each policy, this
/// header has the rules of its state_lock.
///
/// Part: sync. Used by: programs, as the argument of rw_mutex. Source: the read-write lock and its variants
/// (a) and (b) of Ohki and Kuno. The settle rule replaces their counter of waiting writers. The policy
/// `fifo`, upgrading, the limit of readers and the readers' turn are added here.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// The policy of a read-write lock. Under each policy, no new reader enters while a writer waits and readers
/// are inside, so writers do not starve. No thread is overtaken for long (see state_rules::hand_over_after).
enum class rw_policy : std::uint8_t {
    basic,        ///< after the last reader, and after a writer: the first thread to come
    writer_next,  ///< after the last reader: a waiting writer; after a writer: the first to come
    writer_first, ///< no reader enters as long as any writer waits, up to 8000 of them in a row
    fifo          ///< in order of arrival, successive readers together
};

/// The states of a read-write lock. The payload is the number of readers inside. Without readers, it is the
/// number of writers in a row.
enum class rw_state : std::uint8_t {
    free,
    read,        ///< readers inside, more may enter
    full,        ///< like `read`, but the number of readers has reached its limit
    drain,       ///< readers inside, a writer waits, no reader may enter (the source's RTOW)
    writer_only, ///< no thread inside, a writer waits and is next (the source's WONLY)
    write,       ///< a writer inside
    upgrading,   ///< readers inside; one more, not counted, waits to become the writer, or a reader again
    upgrade,     ///< no thread inside, the upgrading reader is next
    reader_only, ///< no thread inside, readers wait and are next
    readers_turn ///< readers inside; waiting readers enter, too, even if writers wait
};

/// The rules of a read-write lock: masks, settling, and the state after the last reader.
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

    /// The number of writers in a row under writer_first, after which waiting readers enter. A smaller number
    /// would be expensive, because each turn of the readers makes all of them wait once more.
#if defined(EKIDEN_CHECKING)
    static constexpr std::uint32_t writers_in_turn = 1; // so that a model reaches a turn of the readers
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

    /// Returns what settle would return when one more waiter arrives. It can only close a lock that readers
    /// hold.
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
