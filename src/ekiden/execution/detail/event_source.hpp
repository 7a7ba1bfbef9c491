/// Interfaces for events of the system, such as data that arrives at a socket.
///
/// Part: execution. Used by: loops, whose threads wait for events; adapters, which have sources (Asio's
/// reactor). Private.
#pragma once

#include <ekiden/sys/clock.hpp>

#include <cstddef>

namespace ekiden::inline EKIDEN_ABI {

/// The context's part of a wait for events.
class event_wait {
public:
    /// Returns whether the source should return from run(), because the context has other work.
    [[nodiscard]] virtual bool is_wanted() noexcept = 0;
    /// Called before the thread waits. Returns false if the thread must not wait, and should return. If it
    /// returns true, end() must follow. `until` is then the latest end of the wait; time_point::max() means
    /// no limit.
    [[nodiscard]] virtual bool begin(sys::clock::time_point& until) noexcept = 0;
    /// Called after the wait.
    virtual void end() noexcept = 0;

protected:
    event_wait() = default;
    ~event_wait() = default;
};

/// A source of events. It belongs to a service of the context, and exists until that service has been shut
/// down.
class event_source {
public:
    /// Runs the handlers of at most `most` events, and returns how many.
    ///
    /// If `wait` is null, it does not wait. Otherwise, if there is no event, it calls wait->begin(), waits
    /// for events, and calls wait->end(). It may return after any of these steps. Every few hundred events it
    /// calls wait->is_wanted(), and returns if that is true.
    ///
    /// A handler may call this function again. One thread at a time calls it, inside the context. Throws
    /// whatever a handler throws.
    virtual std::size_t run(std::size_t most, event_wait* wait) = 0;

    /// Ends the current wait between begin() and end(), or the next one. Any thread may call it.
    virtual void interrupt() noexcept = 0;

protected:
    event_source() = default;
    ~event_source() = default;
};

} // namespace ekiden::inline EKIDEN_ABI
