#include <ekiden/async/with_deadline.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/timer/detail/timer_service.hpp>

#include <exception>

namespace ekiden::inline EKIDEN_ABI::detail {

bool deadline_group::publish_with_alarm() noexcept {
    const bool has_alarm = has_pending() && set_alarm();
    return publish(has_alarm ? 1 : 0);
}

/// False: there is none. The member may have ended meanwhile, in another thread.
bool deadline_group::set_alarm() noexcept {
    if (env().deadline == sys::clock::time_point::max()) return false;
    try {
        auto& queue =
            use_service<timer_service<sys::clock::time_point::clock>>(env().executor.context()).queue();
        timer_.write(recycler::create<timer_state>(queue));
        timer_.read()->add(alarm_, timer_service<sys::clock::time_point::clock>::count(env().deadline));
    } catch (...) { // no memory, or no thread
        leave_timer();
        failed(std::current_exception()); // which stops the member
        return false;
    }
    std::uint8_t seen = is_setting;
    // [AL1] release: the timer. Whoever comes later takes it back. Nothing is acquired: what the member has
    // done comes through the group's count.
    if (!phase_.compare_exchange_strong(seen, is_set, sys::release, sys::relaxed)
        && !EKIDEN_MUTANT(deadline_alarm_stays_set))
        (void)timer_.read()->cancel();
    return true;
}

void deadline_group::member_ends() noexcept {
    // [AL1] acquire: the timer. The group stays until the member is counted, which releases what it has done.
    if (phase_.exchange(is_over, sys::acquire) == is_set) (void)timer_.read()->cancel();
}

void deadline_group::leave_timer() noexcept {
    timer_state* const timer = timer_.read();
    if (timer == nullptr) return;
    timer_.write(nullptr);
    timer->leave();
}

void deadline_group::alarm::come_due(timer_wait& self) noexcept {
    deadline_group& of = static_cast<alarm&>(self).of_;
    bool has_come = false;
    {
        const run_scope scope(self);
        has_come = !scope.is_canceled();
    }
    if (has_come) {
        of.has_come_ = true;
        (void)of.stop().request_stop();
    }
    of.other_ended();
}

const char* deadline_group::alarm::answer(task* self, task_request request) {
    if (request == task_request::describe) return type_description<alarm>();
    auto& own = *static_cast<alarm*>(self); // the context shuts down
    own.drop();
    own.of_.other_ended();
    return nullptr;
}

void deadline_group::finish_in_time() {
    leave_timer();
    const stop_state* const outer = outer_stop();
    const bool is_from_outside = is_outer_earlier_ || (outer != nullptr && outer->stop_requested());
    // What is enclosed may have noticed the deadline before the alarm.
    if (is_only_stopped() && !is_from_outside && (has_come_ || now_here<sys::clock>() >= deadline_))
        throw timed_out("with_deadline: the deadline has come before the end");
    finish();
}

deadline_group::~deadline_group() {
    if (timer_.read() == nullptr) return;
    end_other([this] { (void)timer_.read()->cancel(); });
    leave_timer();
}

} // namespace ekiden::inline EKIDEN_ABI::detail
