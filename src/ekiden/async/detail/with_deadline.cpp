#include <ekiden/async/with_deadline.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/mutant.hpp>

#include <exception>

namespace ekiden::inline EKIDEN_ABI::detail {

bool deadline_group::publish_with_alarm() noexcept {
    const bool has_alarm = has_pending() && set_alarm();
    return publish(has_alarm ? 1 : 0);
}

/// Sets the alarm, which is the timer of the deadline. Returns false if no alarm is needed or possible. The
/// member may end in another thread during this call.
bool deadline_group::set_alarm() noexcept {
    if (env().deadline == sys::clock::time_point::max()) return false;
    try {
        set_timer(env(), env().deadline);
    } catch (...) {                       // there is no memory, or no thread
        failed(std::current_exception()); // this also stops the member
        return false;
    }
    std::uint8_t seen = is_setting;
    // [AL1] Release: publishes the timer. The later of this step and member_ends() cancels the timer. No
    // acquire is needed, because the counter left_ of the group publishes what the member has done.
    if (!phase_.compare_exchange_strong(seen, is_set, sys::release, sys::relaxed)
        && !EKIDEN_MUTANT(deadline_alarm_stays_set))
        cancel_timer();
    return true;
}

void deadline_group::member_ends() noexcept {
    // [AL1] Acquire: this thread sees the timer. The group exists until the end of the member is counted. The
    // step that counts this end publishes what the member has done.
    if (phase_.exchange(is_over, sys::acquire) == is_set) cancel_timer();
}

void deadline_group::timer_ended(timer_end how) noexcept {
    if (how == timer_end::expired) {
        has_come_ = true;
        (void)stop().request_stop();
    }
    other_ended();
}

void deadline_group::finish_in_time() {
    leave_timer();
    const stop_state* const outer = outer_stop();
    const bool is_from_outside = is_outer_earlier_ || (outer != nullptr && outer->stop_requested());
    // The member may have noticed the deadline before the alarm fired.
    if (is_only_stopped() && !is_from_outside && (has_come_ || now_here<sys::clock>() >= deadline_))
        throw timed_out("with_deadline: the deadline has come before the end");
    finish();
}

deadline_group::~deadline_group() {
    if (!has_timer()) return;
    end_other([this] { cancel_timer(); });
    leave_timer();
}

} // namespace ekiden::inline EKIDEN_ABI::detail
