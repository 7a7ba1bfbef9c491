/// Interfaces for events of the system, such as data that arrives at a socket.
///
/// Part: execution. Used by: loops, and adapters of other libraries. Private. The threads of loops wait for
/// events, and the adapters provide event sources.
#pragma once

#include <ekiden/sys/clock.hpp>

#include <cstddef>

namespace ekiden::inline EKIDEN_ABI {

/// The functions that an event source calls when its thread waits for events. A context implements these
/// functions.
class event_wait {
public:
    /// Returns whether the event source should return from run(), because the context has other work.
    [[nodiscard]] virtual bool is_wanted() noexcept = 0;
    /// The event source calls begin() before the thread waits. If begin() returns false, the thread must not
    /// wait, and run() should return. If begin() returns true, end() must be called after the wait, and
    /// `until` is the time at which the wait must end. The value time_point::max() means that the wait has no
    /// time limit.
    [[nodiscard]] virtual bool begin(sys::clock::time_point& until) noexcept = 0;
    /// The event source calls end() after each wait.
    virtual void end() noexcept = 0;

protected:
    event_wait() = default;
    ~event_wait() = default;
};

/// A source of events. An event source belongs to a service of a context, and exists until this service has
/// been shut down.
class event_source {
public:
    /// Runs the handlers of at most `most` events. Returns the number of handlers that this call has run.
    ///
    /// If `wait` is null, run() does not wait. Otherwise, if there is no event, run() calls wait->begin(),
    /// waits for events, and calls wait->end(). After any of these steps, run() may return. After every few
    /// hundred events, run() calls wait->is_wanted(), and returns if is_wanted() returns true.
    ///
    /// A handler may call run() again. Only one thread at a time calls run(), and this thread is inside the
    /// context. Throws whatever a handler throws.
    virtual std::size_t run(std::size_t most, event_wait* wait) = 0;

    /// Ends the current wait between begin() and end(), or the next wait if no thread waits. Any thread may
    /// call interrupt().
    virtual void interrupt() noexcept = 0;

protected:
    event_source() = default;
    ~event_source() = default;
};

} // namespace ekiden::inline EKIDEN_ABI
