#include <ekiden/async/detail/awaited_timer.hpp>

#include <ekiden/queue/recycler.hpp>
#include <ekiden/timer/detail/timer_service.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

void awaited_timer::set_timer(const environment& env, sys::clock::time_point time) {
    using service = timer_service<sys::clock::time_point::clock>;
    auto* const fresh = recycler::create<timer_state>(use_service<service>(env.executor.context()).queue());
    // The state is stored before the call of add(), because the timer may end inside add().
    state_.write(fresh);
    try {
        fresh->add(*this, service::count(time));
    } catch (...) {
        leave_timer();
        throw;
    }
}

void awaited_timer::leave_timer() noexcept {
    timer_state* const left = state_.read();
    if (left == nullptr) return;
    state_.write(nullptr);
    left->leave();
}

/// Called by the timer when the timer has expired or was canceled. A later cancel() does not count this wait.
void awaited_timer::come_due(timer_wait& self) noexcept {
    bool is_canceled = false;
    {
        const run_scope scope(self);
        is_canceled = scope.is_canceled();
    }
    static_cast<awaited_timer&>(self).timer_ended(is_canceled ? timer_end::canceled : timer_end::expired);
}

const char* awaited_timer::answer(task* self, task_request request) {
    if (request == task_request::describe) return type_description<awaited_timer>();
    auto& own = *static_cast<awaited_timer*>(self);
    own.drop();
    own.timer_ended(timer_end::dropped);
    return nullptr;
}

} // namespace ekiden::inline EKIDEN_ABI::detail
