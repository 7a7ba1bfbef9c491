/// A view describes what one thread has seen. It contains a position in the modification order of each atomic
/// object, and a vector clock.
///
/// Part: check (engine). The clock of a view defines which plain accesses happen before an operation. The
/// positions of a view limit which values a load may still return. Two views are joined by element-wise
/// maxima.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ekiden::check {

inline constexpr unsigned max_threads = 8;
inline constexpr unsigned max_locations = 1024;

using stamp = std::uint16_t;

/// Stores the element-wise maxima of the first `count` entries in `into`. The compiler vectorizes this loop.
inline void join_stamps(stamp* __restrict into, const stamp* __restrict from, unsigned count) noexcept {
    for (unsigned i = 0; i < count; ++i) into[i] = into[i] < from[i] ? from[i] : into[i];
}

/// A full-size view. Only the entries of used locations are accessed, so the cost of clearing and joining
/// depends on the model.
struct view {
    stamp clock[max_threads];
    stamp seen[max_locations];

    void clear(unsigned locations) noexcept {
        std::memset(clock, 0, sizeof clock);
        std::memset(seen, 0, locations * sizeof(stamp));
    }
    void join(const view& other, unsigned locations) noexcept {
        join_stamps(clock, other.clock, max_threads);
        join_stamps(seen, other.seen, locations);
    }
    /// Joins only the positions. A seq_cst fence passes positions on without a happens-before relation.
    void join_seen(const view& other, unsigned locations) noexcept {
        join_stamps(seen, other.seen, locations);
    }
    void copy(const view& other, unsigned locations) noexcept {
        std::memcpy(clock, other.clock, sizeof clock);
        std::memcpy(seen, other.seen, locations * sizeof(stamp));
    }
};

/// For each thread, the epochs of its latest loads on which an operation depends: see model_thread::kept.
struct effects {
    stamp acquiring[max_threads]; // the latest acquire load of each thread
    stamp relaxed[max_threads];   // the latest other load of each thread

    void join(const effects& other) noexcept { join_stamps(acquiring, other.acquiring, 2 * max_threads); }
};
static_assert(sizeof(effects) == 2 * max_threads * sizeof(stamp));

/// The view that a message carries. `length` is the number of locations that existed when the message was
/// written. Entries of later locations count as zero. `data` is null if the message carries no view.
struct carried_view {
    stamp* data = nullptr; // clock[max_threads], then seen[length]
    unsigned length = 0;

    [[nodiscard]] stamp* seen() const noexcept { return data + max_threads; }
    void join_into(view& into) const noexcept {
        if (data == nullptr) return;
        join_stamps(into.clock, data, max_threads);
        join_stamps(into.seen, seen(), length);
    }
};

} // namespace ekiden::check
