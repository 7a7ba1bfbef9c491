/// The recorder of the process. The recorder holds the rings of all threads and the names in these rings. The
/// recorder also converts records to events.
///
/// Part: observe. Used by: trace. Private.
#pragma once

#include <ekiden/observe/detail/trace_ring.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/lock.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::trace {

// The two words of a record have these fields.
// first    48 bits  the time when the event began, in ticks; wraps around after a day at 3 GHz
//          12 bits  the number of the event's name
//           4 bits  the kind of the event
// second   32 bits  the length in ticks: a number of 27 bits, to be shifted left by a number of 5 bits
//          32 bits  the id of the event
struct packed {
    static constexpr unsigned time_bits = 48;
    static constexpr unsigned name_bits = 12;
    static constexpr unsigned shift_bits = 5;
    static constexpr std::uint64_t time_mask = (std::uint64_t{1} << time_bits) - 1;
    static constexpr std::size_t most_names = std::size_t{1} << name_bits;

    [[nodiscard]] static constexpr std::uint64_t first(std::uint64_t time, kind what,
                                                       std::uint32_t name) noexcept {
        return (time & time_mask) | std::uint64_t{name} << time_bits
               | static_cast<std::uint64_t>(what) << (time_bits + name_bits);
    }
    /// Rounds long lengths down, so that an inner interval never ends after the interval around it.
    [[nodiscard]] static constexpr std::uint64_t second(std::uint64_t length, std::uint64_t id) noexcept {
        unsigned shift = 0;
        while (length >> (32 - shift_bits) != 0 && shift != (1U << shift_bits) - 1) {
            length >>= 1;
            ++shift;
        }
        return (length << shift_bits | shift) << 32 | (id & 0xffff'ffffU);
    }
    [[nodiscard]] static constexpr std::uint64_t time(std::uint64_t first) noexcept {
        return first & time_mask;
    }
    /// Returns the length of a snapshot, in ticks. Half of the range of the times is left for the events
    /// before the snapshot.
    [[nodiscard]] static std::uint64_t snapshot_length(double wanted, std::uint64_t recorded) noexcept {
        const std::uint64_t most = std::min(recorded, time_mask / 2);
        return wanted < static_cast<double>(most) ? static_cast<std::uint64_t>(wanted) : most;
    }
    [[nodiscard]] static constexpr std::uint32_t name(std::uint64_t first) noexcept {
        return static_cast<std::uint32_t>(first >> time_bits) & (most_names - 1);
    }
    [[nodiscard]] static constexpr kind what(std::uint64_t first) noexcept {
        return static_cast<kind>(first >> (time_bits + name_bits));
    }
    [[nodiscard]] static constexpr std::uint64_t length(std::uint64_t second) noexcept {
        return (second >> (32 + shift_bits)) << (second >> 32 & ((1U << shift_bits) - 1));
    }
    [[nodiscard]] static constexpr std::uint64_t id(std::uint64_t second) noexcept {
        return second & 0xffff'ffffU;
    }
};

/// The records of one thread. Only that thread writes records.
class thread_trace {
public:
    explicit thread_trace(std::size_t records) : ring(records) {}

    static constexpr std::size_t most_open = 8;
    static constexpr std::size_t remembered_names = 64;

    trace_ring ring;
    /// The intervals that have begun and not ended, outermost first. When an interval ends, its element
    /// becomes the first word of its record. An interval that is nested more deeply than `most_open` is shown
    /// only after its end.
    std::array<sys::atomic<std::uint64_t>, most_open> open{};
    std::size_t depth = 0;

    /// `of` is the number of a recording. The records of this recording begin with record number `base` of
    /// the ring.
    sys::atomic<std::uint64_t> base{0};
    sys::atomic<std::uint32_t> of{0};

    /// An entry of the cache of names that the thread has used. The key of the name identifies the entry.
    struct known_name {
        const void* key = nullptr;
        std::uint32_t number = 0;
    };
    std::array<known_name, remembered_names> names{};

    // The lock of the recorder protects the members below.
    std::uint64_t thread_id = 0;
    std::string thread_name;
    bool has_ended = false; // true if the thread has ended, so that another thread may reuse this object
    std::uint64_t left_at = 0;
};

/// The only recorder of the process. The recorder is never destroyed, because threads may record events until
/// their last instruction.
class recorder {
public:
    [[nodiscard]] static recorder& instance() noexcept;

    void start(const options& chosen);
    void stop() noexcept;
    [[nodiscard]] snapshot take(std::uint64_t newest_ns);

    /// Returns the calling thread's trace for the recording `now_on`. Returns null if the recording has no
    /// trace for this thread.
    [[nodiscard]] thread_trace* of_this_thread(std::uint32_t now_on) noexcept;
    /// Call this when the thread ends.
    void leave(thread_trace& mine) noexcept;
    /// Returns the number of the name with this key. Returns 0 if there are too many names.
    [[nodiscard]] std::uint32_t number_of(const void* key, detail::text_of text) noexcept;
    [[nodiscard]] const char* keep(const char* text) noexcept;
    /// Counts an event as lost. Call this if the thread of the event has no trace.
    void lose() noexcept { lost_.fetch_add(1, sys::relaxed); }

    /// Call before_fork() before a fork(), and after_fork() after the fork() in both processes. The child
    /// process records no events until it starts a recording of its own.
    void before_fork() noexcept { lock_.lock(); }
    void after_fork(bool is_child) noexcept;

private:
    struct calibration;

    [[nodiscard]] thread_trace* enlist();
    [[nodiscard]] std::uint64_t begun_ns() const noexcept;
    void read(const thread_trace& from, const calibration& times, track& to) const;
    [[nodiscard]] bool read(trace_record from, const calibration& times, event& to) const;

    mutable sys::slow_lock lock_;
    std::uint32_t state_ = 0; // state of the current or the last recording
    options options_;
    std::vector<std::unique_ptr<thread_trace>> threads_;
    std::vector<std::string_view> names_{"?"};
    std::unordered_map<const void*, std::uint32_t> numbers_;
    std::set<std::string, std::less<>> kept_;
    std::uint64_t leavers_ = 0;
    std::uint64_t begun_ = 0; // start of the recording, in ticks
    std::uint64_t begun_ns_ = 0;
    std::uint64_t ended_ = 0; // End of the recording, in ticks; 0 while tracing is on.
    // The first snapshot of a finished recording sets ns_a_tick_, so that all later snapshots have the same
    // times.
    double ns_a_tick_ = 0;
    sys::atomic<std::uint64_t> lost_{0};
};

} // namespace ekiden::inline EKIDEN_ABI::trace
