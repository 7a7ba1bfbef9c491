/// What the system tells a thread of a context: events, such as that a socket has something to read.
///
/// Part: execution. Used by: loops, whose threads run them; adapters, which have sources (Asio's reactor).
#pragma once

#include <ekiden/sys/clock.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A context's side of a wait: what it does when one of its threads waits for the system, not for a task.
class event_wait {
public:
    /// The calling thread is about to wait. False: it must not, there may be something else to do. True:
    /// end() follows, and `until` says how long it may wait at most (time_point::max(): for ever).
    [[nodiscard]] virtual bool begin(sys::clock::time_point& until) noexcept = 0;
    /// It waits no more.
    virtual void end() noexcept = 0;

protected:
    event_wait() = default;
    ~event_wait() = default;
};

/// Where events come from. It belongs to a service of the context, and stays until that has been shut down.
class event_source {
public:
    /// Runs what belongs to one event. Returns whether it has. `wait`: null, or what the thread goes through
    /// if none is there: begin(), a wait for the next one, end(). After a wait it may return without having
    /// run anything, for any reason. What is run may call this again. Called by one thread at a time, inside
    /// of the context. Throws what is run.
    virtual bool run_one(event_wait* wait) = 0;

    /// Ends the wait that a thread is in between begin() and end(), or the next one. Any thread.
    virtual void interrupt() noexcept = 0;

protected:
    event_source() = default;
    ~event_source() = default;
};

} // namespace ekiden::inline EKIDEN_ABI
