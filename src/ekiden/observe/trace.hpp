/// While tracing is on, records what the threads of the program do and when. The recording is for pictures
/// and for debugging.
///
/// Part: observe. Used by: programs, all parts of a higher level. chrome_trace.hpp and timeline.hpp write
/// recordings to streams. docs/tracing.md lists the costs.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::trace {

/// The kinds of events. An event is an interval or a moment. An interval is recorded when it ends.
enum class kind : std::uint8_t {
    task = 1,  ///< Interval: a task has run. The name is the callable's type. The id identifies the task.
    queued,    ///< Moment: a task has been posted. The id identifies the task.
    stolen,    ///< Moment: a worker has stolen a task from another worker. The id identifies the task.
    parked,    ///< Interval: a thread without work has slept.
    woken,     ///< Moment: this thread has woken a worker. The id is the index of the worker in its pool.
    lock_wait, ///< Interval: a thread slept for a lock. The name is the lock kind. The id denotes the lock.
    granted,   ///< Moment: this thread has handed a lock to the next waiter. The id identifies the lock.
    turn,      ///< Interval: tasks of one strand or lane have run. The id identifies the strand or lane.
    timer,     ///< Moment: a timer has fired. The id identifies the timer.
    suspended, ///< Moment: a coroutine begins to wait. The id identifies the coroutine.
    resumed,   ///< Moment: a coroutine resumes. The id identifies the coroutine.
    blocked,   ///< Interval: a worker was blocked. The name is the text of the blocking_region.
    span,      ///< Interval: recorded by the program, which chooses the name.
    mark       ///< Moment: recorded by the program, which chooses the name and the id.
};
/// Returns true if events of this kind are intervals, and false if events of this kind are moments.
[[nodiscard]] constexpr bool is_interval(kind k) noexcept {
    return k == kind::task || k == kind::parked || k == kind::lock_wait || k == kind::turn
           || k == kind::blocked || k == kind::span;
}

/// The options of a recording, which limit its memory.
struct options {
    std::size_t events = 32'768; ///< largest number of events for each thread; rounded up to a power of two
    std::size_t threads = 256;   ///< largest number of threads; further threads reuse memory of ended threads
};

/// Starts a recording and drops the previous recording. A thread allocates memory (16 bytes for each event)
/// at its first event. The thread keeps this memory for later recordings. The size of the memory stays
/// unchanged, even if a later recording has other options. Throws std::invalid_argument if an option is out
/// of range. Any thread may call this function.
void start(const options& chosen = {});

/// Stops the recording. The recorded events stay available. Has no effect if tracing is off. Any thread may
/// call this function.
void stop() noexcept;

/// The name of a mark or a span. The name must be a string literal, because events refer to it until the
/// program ends.
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
    trace::kind kind = trace::kind::mark; ///< The kind of the event.
    /// True if the interval had not ended at the time of the snapshot. The `length` of an open interval
    /// counts until the snapshot.
    bool is_open = false;
    std::string_view name = {}; ///< The name of the event. The name is valid until the program ends.
    /// Identifies an object. After the destruction of the object, another object may get the same id.
    std::uint64_t id = 0;
    std::int64_t begin = 0;  ///< nanoseconds from the start of the recording to the event
    std::int64_t length = 0; ///< Duration in nanoseconds; 0 for a moment.
    /// Returns the end of the event in nanoseconds since the start of the recording.
    [[nodiscard]] std::int64_t end() const noexcept { return begin + length; }
};

/// The events of one thread.
struct track {
    std::uint64_t thread_id = 0;   ///< the system's thread id
    std::string thread_name;       ///< the thread's name when the thread recorded its first event
    std::uint64_t overwritten = 0; ///< number of events that newer events have overwritten
    std::vector<event> events;     ///< the events, in the order of their ends
};

/// A copy of the recorded events, as a plain value.
struct snapshot {
    std::vector<track> tracks; ///< one track for each thread with events
    std::int64_t length = 0;   ///< nanoseconds from the time 0 of the events to this copy, or to stop()
    std::uint64_t lost = 0;    ///< number of events that were lost because their threads got no memory
};

/// Returns a copy of the events since the last start(). Threads keep running during the call. The copy may or
/// may not contain events that are recorded during the call. If the recording is longer than half a day, the
/// copy contains the newest hours: 13 hours with a counter of 3 GHz. A call soon after start() takes some
/// milliseconds, because it compares two clocks. Throws std::bad_alloc. Any thread may call this function.
[[nodiscard]] snapshot take();
/// Returns a copy like take(), but only of the events of the last `newest`, as if the recording had started
/// that long ago. A recording may run for weeks: older events do not delay the call.
[[nodiscard]] snapshot take(std::chrono::nanoseconds newest);

namespace detail {

// state    meaning                                                          set by
// 0        tracing is off                                                   set by stop()
// bit 0    tracing is on                                                    set by start()
// bit 1    times come from the processor's counter, not from the clock      set by start()
// others   these bits contain the number of the recording                   set by start()
inline constexpr std::uint32_t on = 1;
inline constexpr std::uint32_t by_counter = 2;
inline constexpr std::uint32_t recording = 4; // the lowest bit of the number of the recording
extern sys::atomic<std::uint32_t> state;

/// The result of begin() if tracing is off. An interval that begins while tracing is off is not recorded.
inline constexpr std::uint64_t nothing = 0;

/// A function that returns the text of a name. `key` identifies the name. The hot path stores only this key.
/// The text is never destroyed.
using text_of = std::string_view (*)(const void* key);
inline std::string_view literal(const void* key) { return static_cast<const char*>(key); }

/// Returns a permanent copy of `text`. Afterwards, the caller may destroy `text`. Returns "?" if there is no
/// memory, or if there are already some thousands of texts. Acquires a lock. Any thread may call this
/// function.
[[nodiscard]] const char* kept(const char* text) noexcept;

// Call begin() and record() only while tracing is on. end() may be called even after tracing has stopped.
[[nodiscard]] std::uint64_t begin(kind what, const void* key, text_of text) noexcept;
void end(std::uint64_t begun, std::uint64_t id) noexcept;
void record(kind what, std::uint64_t id, const void* key = nullptr, text_of text = nullptr) noexcept;

/// Returns the id that events use for an object. The id is derived from the address of the object. Objects
/// within 64 GiB of address space have different ids.
[[nodiscard]] inline std::uint64_t id_of(const void* object) noexcept {
    return (reinterpret_cast<std::uintptr_t>(object) >> 4) & 0xffff'ffffU;
}

} // namespace detail

/// Returns whether tracing is on. Costs one relaxed load of a word that seldom changes.
[[nodiscard]] inline bool is_on() noexcept {
#if defined(EKIDEN_CHECKING) || defined(EKIDEN_UNTRACED)
    return false; // models of other protocols stay smaller, and tracing costs nothing
#else
    return detail::state.load(sys::relaxed) != 0;
#endif
}

/// Records a moment that the program chooses. Any thread may call this function.
inline void mark(name what, std::uint32_t value = 0) noexcept {
    if (is_on()) [[unlikely]]
        detail::record(kind::mark, value, what.text(), &detail::literal);
}

namespace detail {

/// Records a moment in the life of an object. Record a `queued` event before the push, because the task may
/// run before the push returns.
inline void moment(kind what, const void* object) noexcept {
    if (is_on()) [[unlikely]]
        record(what, id_of(object));
}

/// Records an interval of the library, from the construction of this object to its destruction.
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

/// Records an interval that the program chooses, from the construction of this object to its destruction. The
/// construction and the destruction must happen in the same thread. So do not use a span across a co_await,
/// because the coroutine may resume in another thread.
class [[nodiscard]] span : detail::interval {
public:
    explicit span(name what) noexcept : interval(kind::span, what.text(), 0) {}
};

} // namespace ekiden::inline EKIDEN_ABI::trace
