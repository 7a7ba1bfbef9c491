/// Records what the program's threads do while tracing is on, with times, for pictures and for debugging.
///
/// Part: observe. Used by: every part above (records its events), programs (start, their own marks and spans,
/// snapshots). Written by chrome_trace.hpp and timeline.hpp. The costs: docs/tracing.md.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::trace {

/// The kinds of events. An interval is one event, recorded at its end. All other events are moments.
enum class kind : std::uint8_t {
    task = 1,  ///< interval: a task has run. Name: the type of its callable. Id: the task
    queued,    ///< a task has been posted. Id: the task
    stolen,    ///< a worker has stolen a task from another worker. Id: the task
    parked,    ///< interval: a thread without work has slept
    woken,     ///< this thread has woken a worker. Id: the worker's index in its pool
    lock_wait, ///< interval: this thread has slept for a lock. Name: the lock's kind. Id: the lock
    granted,   ///< this thread has handed a lock to the next waiter. Id: the lock
    turn,      ///< interval: tasks of one strand or lane have run. Id: the strand or lane
    timer,     ///< a timer has fired. Id: the timer
    suspended, ///< a coroutine waits. Id: the coroutine
    resumed,   ///< a coroutine resumes. Id: the coroutine
    blocked,   ///< interval: a worker has blocked. Name: the text of the blocking_region
    span,      ///< interval of the program. Name: chosen by the program
    mark       ///< moment of the program. Name and id: chosen by the program
};
/// Returns whether events of this kind are intervals. The others are moments.
[[nodiscard]] constexpr bool is_interval(kind k) noexcept {
    return k == kind::task || k == kind::parked || k == kind::lock_wait || k == kind::turn
           || k == kind::blocked || k == kind::span;
}

/// The limits of a recording: the number of events that are kept for each thread, and the number of threads.
struct options {
    std::size_t events = 32'768; ///< the newest ones of each thread; rounded up to a power of two
    std::size_t threads = 256;   ///< a later thread reuses the memory of an ended one, or is not recorded
};

/// Starts a recording and drops the previous one. A thread allocates its memory (16 bytes for each event) at
/// its first event, and keeps it for the next recording. Its size then stays the same. Throws
/// std::invalid_argument for numbers out of range. Any thread may call it.
void start(const options& chosen = {});

/// Stops the recording. The recorded events stay. Has no effect if tracing is off. Any thread may call it.
void stop() noexcept;

/// The name of a mark or a span. It must be a literal, because events refer to it forever.
class name {
public:
    consteval name(const char* literal) : text_(literal) {} // NOLINT(google-explicit-constructor)
    /// Returns the literal.
    [[nodiscard]] constexpr const char* text() const noexcept { return text_; }

private:
    const char* text_;
};

/// One event of a thread.
struct event {
    trace::kind kind = trace::kind::mark; ///< the kind of the event
    bool is_open = false;       ///< an interval that had not ended; its length is the time until the snapshot
    std::string_view name = {}; ///< valid for the program's life
    std::uint64_t id = 0;       ///< identifies an object while it lives; a later object may get the same id
    std::int64_t begin = 0;     ///< nanoseconds since the start
    std::int64_t length = 0;    ///< nanoseconds; 0 for moments
    /// Returns the end in nanoseconds since the start.
    [[nodiscard]] std::int64_t end() const noexcept { return begin + length; }
};

/// The events of one thread.
struct track {
    std::uint64_t thread_id = 0;   ///< the system's thread id
    std::string thread_name;       ///< its name when it recorded its first event
    std::uint64_t overwritten = 0; ///< number of events that were overwritten by newer ones
    std::vector<event> events;     ///< the events, in the order of their ends
};

/// A copy of the recorded events, as a plain value.
struct snapshot {
    std::vector<track> tracks; ///< one for each thread with events
    std::int64_t length = 0;   ///< nanoseconds from the start to this copy, or to stop()
    std::uint64_t lost = 0; ///< events of threads without memory: too many threads, or the allocation failed
};

/// Returns a copy of the events since the last start. Threads keep running meanwhile. Events recorded during
/// the call may or may not be included. The first calls of a recording take some milliseconds to compare two
/// clocks. Throws std::bad_alloc. Any thread may call it.
[[nodiscard]] snapshot take();

namespace detail {

// state    meaning                                                          set by
// 0        off                                                              stop
// bit 0    on                                                               start
// bit 1    times are the processor's counter, else the clock                start
// others   the number of the recording                                      start
inline constexpr std::uint32_t on = 1;
inline constexpr std::uint32_t by_counter = 2;
inline constexpr std::uint32_t recording = 4; // the first of its bits
extern sys::atomic<std::uint32_t> state;

/// Means that tracing is off. An interval that begins now is not recorded.
inline constexpr std::uint64_t nothing = 0;

/// Returns the text of a name from the key that the hot path stores. The text is never destroyed.
using text_of = std::string_view (*)(const void* key);
inline std::string_view literal(const void* key) { return static_cast<const char*>(key); }

/// Returns a permanent copy of a text that its owner may destroy. Returns "?" if there is no memory, or after
/// some thousands of texts. Acquires a lock. Any thread may call it.
[[nodiscard]] const char* kept(const char* text) noexcept;

// Call these while tracing is on. end() may also be called later.
[[nodiscard]] std::uint64_t begin(kind what, const void* key, text_of text) noexcept;
void end(std::uint64_t begun, std::uint64_t id) noexcept;
void record(kind what, std::uint64_t id, const void* key = nullptr, text_of text = nullptr) noexcept;

/// Returns the id of an object in events. It is derived from the address, and distinguishes objects within 64
/// GiB.
[[nodiscard]] inline std::uint64_t id_of(const void* object) noexcept {
    return (reinterpret_cast<std::uintptr_t>(object) >> 4) & 0xffff'ffffU;
}

} // namespace detail

/// Returns whether tracing is on. Costs one relaxed load of a word that seldom changes.
[[nodiscard]] inline bool is_on() noexcept {
#if defined(EKIDEN_CHECKING) || defined(EKIDEN_UNTRACED)
    return false; // models of other protocols need not read it; the lab measures a library without traces
#else
    return detail::state.load(sys::relaxed) != 0;
#endif
}

/// Records a moment of the program. Any thread may call it.
inline void mark(name what, std::uint32_t value = 0) noexcept {
    if (is_on()) [[unlikely]]
        detail::record(kind::mark, value, what.text(), &detail::literal);
}

namespace detail {

/// Records a moment of an object. A `queued` event is recorded before the push, because the task may run
/// before the push returns.
inline void moment(kind what, const void* object) noexcept {
    if (is_on()) [[unlikely]]
        record(what, id_of(object));
}

/// An interval of the library, from its construction to the end of the scope.
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

/// Records an interval of the program, from its construction to the end of the scope, on one thread. Do not
/// use it across a co_await, because the coroutine may resume in another thread.
class [[nodiscard]] span : detail::interval {
public:
    explicit span(name what) noexcept : interval(kind::span, what.text(), 0) {}
};

} // namespace ekiden::inline EKIDEN_ABI::trace
