/// What the program's threads have done lately: recorded while tracing is on, with times, for pictures and
/// for a look at what went wrong.
///
/// Part: observe. Used by: every part above (tells what it does), programs (start, marks and spans of their
/// own, snapshots). Written out by chrome_trace.hpp and timeline.hpp. What it costs: docs/tracing.md.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::trace {

/// What an event is. Of an interval there is one event, made at its end; the others are moments.
enum class kind : std::uint8_t {
    task = 1,  ///< interval: a task has run. Name: the type of its callable. Id: the task's
    queued,    ///< a task has been posted. Id: the task's
    stolen,    ///< a worker has taken it from another one. Id: the task's
    parked,    ///< interval: a thread without work has slept
    woken,     ///< this thread has woken a worker. Id: the worker's number in its pool
    lock_wait, ///< interval: this thread has slept for a lock. Name: the lock's kind. Id: the lock's
    granted,   ///< this thread has let the next one into a lock. Id: the lock's
    turn,      ///< interval: tasks of one strand or lane have run. Id: the strand's or lane's
    timer,     ///< a timer has fired. Id: the timer's
    suspended, ///< a coroutine waits. Id: the coroutine's
    resumed,   ///< a coroutine goes on. Id: the coroutine's
    blocked,   ///< interval: a worker has blocked. Name: on what, as it has said
    span,      ///< interval: of the program. Name: the program's
    mark       ///< of the program. Name: the program's. Id: a number of the program's
};
/// Whether events of this kind last; the others are moments.
[[nodiscard]] constexpr bool is_interval(kind k) noexcept {
    return k == kind::task || k == kind::parked || k == kind::lock_wait || k == kind::turn
           || k == kind::blocked || k == kind::span;
}

/// How much is kept.
struct options {
    std::size_t events = 32'768; ///< kept for each thread, the newest; rounded up to a power of two
    std::size_t threads = 256;   ///< that have a place; a later one takes that of one that has ended, or none
};

/// Turns tracing on, and forgets what was recorded before. A thread's memory (16 bytes an event) is taken at
/// its first event, and kept for the next recording; then its size stays. Throws std::invalid_argument for
/// numbers out of range. Any thread.
void start(const options& chosen = {});

/// Turns it off; what was recorded stays. Any thread, also while it is off.
void stop() noexcept;

/// Text for names of marks and spans: a literal, since records refer to it for ever.
class name {
public:
    consteval name(const char* literal) : text_(literal) {} // NOLINT(google-explicit-constructor)
    /// The literal.
    [[nodiscard]] constexpr const char* text() const noexcept { return text_; }

private:
    const char* text_;
};

/// Something that a thread has done.
struct event {
    trace::kind kind = trace::kind::mark; ///< what it was
    bool is_open = false;                 ///< an interval that had not ended; its length is that so far
    std::string_view name = {};           ///< valid for the program's life
    std::uint64_t id = 0;    ///< the same for one object while it lives; another object may have it later
    std::int64_t begin = 0;  ///< in nanoseconds since the start
    std::int64_t length = 0; ///< in nanoseconds; 0 for moments
    /// In nanoseconds since the start.
    [[nodiscard]] std::int64_t end() const noexcept { return begin + length; }
};

/// What one thread has done.
struct track {
    std::uint64_t thread_id = 0;   ///< the system's number of the thread
    std::string thread_name;       ///< when it recorded its first event
    std::uint64_t overwritten = 0; ///< events that were too old to be kept
    std::vector<event> events;     ///< by their ends
};

/// A copy; a plain value.
struct snapshot {
    std::vector<track> tracks; ///< of threads with events
    std::int64_t length = 0;   ///< nanoseconds from the start to this copy, or to the stop
    std::uint64_t lost = 0;    ///< events of threads that had no place: too many threads, or no memory
};

/// What has been recorded since the last start. The threads go on meanwhile; what they record is in it or
/// not. Takes some milliseconds in the first ones of a recording, to compare two clocks. Throws
/// std::bad_alloc. Any thread.
[[nodiscard]] snapshot take();

namespace detail {

// state    meaning                                                          set by
// 0        off                                                              stop
// bit 0    on                                                               start
// bit 1    times are the processor's counter, else the clock                start
// others   which recording it is                                            start
inline constexpr std::uint32_t on = 1;
inline constexpr std::uint32_t by_counter = 2;
inline constexpr std::uint32_t recording = 4; // the first of its bits
extern sys::atomic<std::uint32_t> state;

/// Tracing is off: an interval that begins now is not recorded.
inline constexpr std::uint64_t nothing = 0;

/// The text of a name, which lives for ever, from what stands for it in the hot path.
using text_of = std::string_view (*)(const void* key);
inline std::string_view literal(const void* key) { return static_cast<const char*>(key); }

/// The same text, kept for ever: for one that its owner may end. "?" without memory, or after some thousands
/// of them. Takes a lock. Any thread.
[[nodiscard]] const char* kept(const char* text) noexcept;

// While tracing is on; end() also after it.
[[nodiscard]] std::uint64_t begin(kind what, const void* key, text_of text) noexcept;
void end(std::uint64_t begun, std::uint64_t id) noexcept;
void record(kind what, std::uint64_t id, const void* key = nullptr, text_of text = nullptr) noexcept;

/// What stands for an object in records: its address, of which 64 GiB tell objects apart.
[[nodiscard]] inline std::uint64_t id_of(const void* object) noexcept {
    return (reinterpret_cast<std::uintptr_t>(object) >> 4) & 0xffff'ffffU;
}

} // namespace detail

/// Whether tracing is on: one relaxed load of a word that seldom changes.
[[nodiscard]] inline bool is_on() noexcept {
#if defined(EKIDEN_CHECKING) || defined(EKIDEN_UNTRACED)
    return false; // models of other protocols do not look at it; the lab measures a library without it
#else
    return detail::state.load(sys::relaxed) != 0;
#endif
}

/// Records a moment of the program. About 10 ns while tracing is on. Any thread.
inline void mark(name what, std::uint32_t value = 0) noexcept {
    if (is_on()) [[unlikely]]
        detail::record(kind::mark, value, what.text(), &detail::literal);
}

namespace detail {

/// What happens to an object now. (That a task is queued is said before: it may run before the push returns.)
inline void moment(kind what, const void* object) noexcept {
    if (is_on()) [[unlikely]]
        record(what, id_of(object));
}

/// An interval of the library: from here to the end of the scope.
class [[nodiscard]] interval {
public:
    interval(kind what, const char* literal, std::uint64_t id) noexcept : id_(id) {
        if (is_on()) [[unlikely]]
            begun_ = begin(what, literal, &detail::literal);
    }
    ~interval() {
        if (begun_ != nothing) [[unlikely]]
            end(begun_, id_);
    }
    interval(const interval&) = delete;
    interval& operator=(const interval&) = delete;

private:
    const std::uint64_t id_;
    std::uint64_t begun_ = nothing;
};

} // namespace detail

/// Records how long something of the program takes: from here to the end of the scope, on one thread. (Not
/// across a co_await: the coroutine may go on elsewhere.)
class [[nodiscard]] span : detail::interval {
public:
    explicit span(name what) noexcept : interval(kind::span, what.text(), 0) {}
};

} // namespace ekiden::inline EKIDEN_ABI::trace
