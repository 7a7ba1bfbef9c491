/// The requests that a thread must end because their functions have been dropped.
///
/// Part: lanes. Used by: lanes_state.
#pragma once

#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

struct lane_request;

/// The dropped requests that the calling thread must end. See lanes_state::end_dropped().
struct dropped_requests {
    lane_request* first; // linked by runnable::next_ready
    bool has_owner;      // true if a call further up the stack ends these requests
};

/// While this object exists, end_dropped() ends each request before it returns. Used around calls of the
/// program's functions and destructors, because these may wait for the lanes of the request.
class dropped_requests_hidden {
public:
    dropped_requests_hidden() noexcept
        : here_(sys::local<dropped_requests>()), outer_(std::exchange(here_, {})) {}
    ~dropped_requests_hidden() { here_ = outer_; }
    dropped_requests_hidden(const dropped_requests_hidden&) = delete;
    dropped_requests_hidden& operator=(const dropped_requests_hidden&) = delete;

private:
    dropped_requests& here_;
    const dropped_requests outer_;
};

} // namespace ekiden::inline EKIDEN_ABI
