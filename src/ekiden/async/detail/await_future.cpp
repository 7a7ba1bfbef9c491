#include <ekiden/async/await_future.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

completion_wait::~completion_wait() {
    (void)disarm();
    // Detach only if the coroutine still waits. If the coroutine has been resumed, the shared state of the
    // future may have been destroyed.
    const bool waits = awaited_ != nullptr && !is_canceled_ && to_arrive_.load(sys::relaxed) != 0;
    if (waits) (void)awaited_->detach(on_ready_);
}

bool completion_wait::begin(completion& awaited) noexcept {
    awaited_ = &awaited; // written before arm(), because the stop callback reads it
    stop_state* const stop = way_home_.env().stop;
    if (stop != nullptr && !arm(*stop)) { // a stop was requested before, so the coroutine is posted
        is_canceled_ = true;
        way_home_.resume();
        return true;
    }
    if (!awaited.attach(on_ready_)) {
        (void)disarm();
        awaited_ = nullptr;
        return false;
    }
    // [AF1] If a stop was requested before attach(), the stop callback has set is_stopped_, and its detach()
    // has found no continuation. attach() and detach() use the same lock. So either detach() finds the
    // continuation, or this thread sees is_stopped_. Acquire: orders this read before the following steps,
    // which the callback of a later stop request may see.
    if (is_stopped_.load(sys::acquire) && !EKIDEN_MUTANT(await_forgets_early_stop)
        && awaited.detach(on_ready_)) {
        is_canceled_ = true;
        way_home_.resume();
        return true;
    }
    return !arrive();
}

/// Counts one of the two arrivals. Returns true for the second arrival.
bool completion_wait::arrive() noexcept {
    // [AF2] Release: publishes what this thread has written into the awaiter. Acquire: pairs with the release
    // of the other thread.
    return to_arrive_.fetch_sub(1, sys::acq_rel) == 1 || EKIDEN_MUTANT(await_both_resume);
}

void completion_wait::is_ready(void* self) noexcept {
    auto& own = *static_cast<completion_wait*>(self);
    if (own.arrive()) own.way_home_.resume(); // [AF2]
}

void completion_wait::stop_requested(stop_node& node) noexcept {
    auto& own = static_cast<completion_wait&>(node);
    own.is_stopped_.store(true, sys::relaxed); // [AF1]
    if (!own.awaited_->detach(own.on_ready_)) return;
    own.is_canceled_ = true;
    if (own.arrive()) own.way_home_.resume(); // [AF2]
}

} // namespace ekiden::inline EKIDEN_ABI::detail
