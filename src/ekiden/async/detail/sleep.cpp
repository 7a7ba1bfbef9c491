#include <ekiden/async/sleep.hpp>

#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/timer/detail/timer_service.hpp>

#include <algorithm>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The stop is armed before the timer, and the timer may be due before this returns. So what goes home, and
/// what cancels the timer, leaves that to this until publish().
void sleep_awaiter::begin() {
    const environment& env = home_.env();
    is_cut_ = env.deadline < time_;
    if (env.stop != nullptr && !stop_.arm(*env.stop)) {
        is_canceled_.write(true);
        home_.resume();
        return;
    }
    auto& queue = use_service<timer_service<sys::clock::time_point::clock>>(env.executor.context()).queue();
    auto* const timer = recycler::create<timer_state>(queue);
    timer_.write(timer);
    timer->add(*this, timer_service<sys::clock::time_point::clock>::count(std::min(env.deadline, time_)));
    publish();
}

/// [TW1] Whoever of begin() and let_go() is the later goes home; whoever of begin() and stopped() is the
/// later cancels the timer. Release here: the timer, and this thread's last touch; acquire: what let_go()
/// releases. relaxed on failure: a stop brings nothing, and of let_go() the step that succeeds reads.
void sleep_awaiter::publish() noexcept {
    std::uint8_t seen = 0;
    bool has_canceled = false;
    while (!parts_.compare_exchange_strong(seen, seen | has_begun, sys::acq_rel, sys::relaxed)) {
        if ((seen & is_stopped) == 0 || EKIDEN_MUTANT(sleep_forgets_early_stop)
            || std::exchange(has_canceled, true))
            continue;
        (void)timer_.read()->cancel(); // lets go of the wait, here or in the thread that is about to fire
    }
    if ((seen & is_due) != 0) home_.resume();
}

/// In the stop's callback. [TW1] acquire: the timer. It releases nothing, for publish() reads nothing of it.
void sleep_awaiter::stopped() noexcept {
    if ((parts_.fetch_or(is_stopped, sys::acquire) & has_begun) != 0) (void)timer_.read()->cancel();
}

/// The timer's state posts the wait: it expired, or was canceled before. From here on no cancel counts it.
void sleep_awaiter::come_due(timer_wait& self) noexcept {
    auto& own = static_cast<sleep_awaiter&>(self);
    {
        const run_scope scope(self);
        own.is_canceled_.write(scope.is_canceled());
    }
    own.let_go(is_due);
}

void sleep_awaiter::let_go(std::uint8_t how) noexcept {
    // [TW1] release: is_canceled_, and this thread's last touch if another goes home; acquire: the last
    // touch of publish().
    const std::uint8_t before = parts_.fetch_or(how, sys::acq_rel);
    if ((before & (has_begun | is_ending)) == has_begun) home_.resume(task_order::immediate);
}

const char* sleep_awaiter::answer(task* self, task_request request) {
    if (request == task_request::describe) return type_description<sleep_awaiter>();
    auto& own = *static_cast<sleep_awaiter*>(self);
    own.drop();
    own.is_canceled_.write(true);
    own.let_go(is_due); // home, which refuses it
    return nullptr;
}

/// True: the time has come.
bool sleep_awaiter::end() noexcept {
    (void)stop_.disarm();
    if (timer_state* const timer = timer_.read(); timer != nullptr) {
        timer_.write(nullptr);
        timer->leave();
    }
    return !is_canceled_.read() && !is_cut_;
}

sleep_awaiter::~sleep_awaiter() {
    (void)stop_.disarm();
    timer_state* const timer = timer_.read();
    if (timer == nullptr) return;
    if ((parts_.fetch_or(is_ending, sys::acq_rel) & (has_begun | is_due)) == has_begun) { // [TW1]
        (void)timer->cancel();
        // At once, but for a thread that has taken it out to fire it.
        while ((parts_.load(sys::acquire) & is_due) == 0) sys::yield();
    }
    timer->leave();
}

} // namespace ekiden::inline EKIDEN_ABI::detail
