/// The rings of all threads, the names that records refer to, and how records become events.
///
/// Part: observe. Used by: trace. Private.
#pragma once

#include <ekiden/observe/detail/trace_ring.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/lock.hpp>

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::trace {

// A record's words:
// first    48 bits  when it began, in ticks; they come round after a day at 3 GHz
//          12 bits  number of its name
//           4 bits  kind
// second   32 bits  length: the upper 27 as a number, the lower 5 as a shift; exact up to 2^27 ticks
//          32 bits  id
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
    /// Long ones are rounded down, so that what lies inside of another interval ends inside of it.
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

/// What one thread records. Its thread writes.
class thread_trace {
public:
    explicit thread_trace(std::size_t records) : ring(records) {}

    static constexpr std::size_t most_open = 8;
    static constexpr std::size_t remembered_names = 64;

    trace_ring ring;
    /// Intervals that have begun, the outermost first; of those nested deeper nothing is shown before they
    /// end. The first word of their records.
    std::array<sys::atomic<std::uint64_t>, most_open> open{};
    std::size_t depth = 0;

    /// What the ring has of the recording `of` begins with record number `base`.
    sys::atomic<std::uint64_t> base{0};
    sys::atomic<std::uint32_t> of{0};

    /// Names that the thread has looked up, by their key.
    struct known_name {
        const void* key = nullptr;
        std::uint32_t number = 0;
    };
    std::array<known_name, remembered_names> names{};

    // Under the recorder's lock:
    std::uint64_t thread_id = 0;
    std::string thread_name;
    bool has_ended = false; // its thread; another one may have it
    std::uint64_t left_at = 0;
};

/// One for the process; never destroyed, since threads may record until the last instruction.
class recorder {
public:
    [[nodiscard]] static recorder& instance() noexcept;

    void start(const options& chosen);
    void stop() noexcept;
    [[nodiscard]] snapshot take();

    /// The calling thread's, for events of the recording that is on; null if that has none for it.
    [[nodiscard]] thread_trace* of_this_thread(std::uint32_t now_on) noexcept;
    /// The calling thread ends.
    void leave(thread_trace& mine) noexcept;
    /// The number of the name that `key` stands for. 0 if there are too many.
    [[nodiscard]] std::uint32_t number_of(const void* key, detail::text_of text) noexcept;
    [[nodiscard]] const char* keep(const char* text) noexcept;
    /// An event is lost: the thread has no place for it.
    void lose() noexcept { lost_.fetch_add(1, sys::relaxed); }

    /// Around a fork. The child records nothing until it starts a recording of its own.
    void before_fork() noexcept { lock_.lock(); }
    void after_fork(bool is_child) noexcept;

private:
    struct calibration;

    [[nodiscard]] thread_trace* enlist();
    [[nodiscard]] std::uint64_t begun_ns() const noexcept;
    void read(const thread_trace& from, const calibration& times, track& to) const;
    [[nodiscard]] bool read(trace_record from, const calibration& times, event& to) const;

    mutable sys::slow_lock lock_;
    std::uint32_t state_ = 0; // of the recording that is on, or was the last
    options options_;
    std::vector<std::unique_ptr<thread_trace>> threads_;
    std::vector<std::string_view> names_{"?"};
    std::unordered_map<const void*, std::uint32_t> numbers_;
    std::set<std::string, std::less<>> kept_;
    std::uint64_t leavers_ = 0;
    std::uint64_t begun_ = 0; // the recording, in ticks,
    std::uint64_t begun_ns_ = 0;
    std::uint64_t ended_ = 0; // in ticks; while it is on, 0
    double ns_a_tick_ = 0;    // once it has ended and been looked at, so that its times stay
    sys::atomic<std::uint64_t> lost_{0};
};

} // namespace ekiden::inline EKIDEN_ABI::trace
