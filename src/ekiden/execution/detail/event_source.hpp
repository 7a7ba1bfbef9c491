/// What the system tells a thread of a context: events, such as that a socket has something to read.
///
/// Part: execution. Used by: loops, whose threads run them; adapters, which have sources (Asio's reactor).
#pragma once

#include <ekiden/sys/clock.hpp>

#include <cstddef>

namespace ekiden::inline EKIDEN_ABI {

/// A context's side of a wait: what it does when one of its threads waits for the system, not for a task.
class event_wait {
public:
    /// Whether the thread should come back, for there is something else to do.
    [[nodiscard]] virtual bool is_wanted() noexcept = 0;
    /// The thread is about to wait. False: it must not, and should come back. True: end() follows, and
    /// `until` says how long it may wait at most (time_point::max(): for ever).
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
    /// Runs what belongs to events, and returns to how many; at most `most`. `wait`: null, or what the thread
    /// goes through when none is there: begin(), a wait for the next ones, end(). It may come back after any
    /// of them; it does so when the wait says that it should, for which it is asked once in some hundred
    /// events. What is run may call this again. Called by one thread at a time, inside of the context. Throws
    /// what is run.
    virtual std::size_t run(std::size_t most, event_wait* wait) = 0;

    /// Ends the wait that a thread is in between begin() and end(), or the next one. Any thread.
    virtual void interrupt() noexcept = 0;

protected:
    event_source() = default;
    ~event_source() = default;
};

} // namespace ekiden::inline EKIDEN_ABI
