#include <ekiden/lanes/lane_turn.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/lanes/detail/lanes_state.hpp>
#include <ekiden/sys/mutant.hpp>

namespace ekiden::inline EKIDEN_ABI {

// ---- turn_record

turn_record::turn_record(lanes_state& of) noexcept : all_(of) {
    if (!EKIDEN_MUTANT(turn_has_no_handle)) all_.add_handle();
}

void turn_record::enqueue(bool may_wait) {
    is_enqueued_ = true;
    if (!EKIDEN_MUTANT(turn_lanes_are_no_owner)) add_owner();
    if (all_.takes_no_more()) {
        drop();
        request_->end();
    } else if (request_->claims == 0) {
        (void)begin();
    } else {
        (void)all_.enqueue(*request_, may_wait ? task_order::usual : task_order::immediate);
    }
}

bool turn_record::begin() noexcept {
    phase expected = phase::waiting;
    // [LN5] Release: leave() sees the request as the lanes have left it. Pairs with the exchange in leave().
    // Relaxed on failure, because the request only ends.
    if (!phase_.compare_exchange_strong(expected, phase::begun, sys::release, sys::relaxed)
        && !EKIDEN_MUTANT(turn_begins_after_withdrawal)) {
        request_->has_run.write(false);
        request_->is_lost = !EKIDEN_MUTANT(turn_forgets_a_late_withdrawal);
        return false;
    }
    all_.begin_turn();
    const bool is_early = EKIDEN_MUTANT(turn_ends_its_ownership_early);
    if (is_early) request_->end();
    decide();
    if (!is_early) request_->end(); // the coroutine may have ended the turn already
    return true;
}

void turn_record::drop() noexcept {
    phase expected = phase::waiting;
    // Relaxed is enough, because the event publishes the value.
    if (phase_.compare_exchange_strong(expected, phase::dropped, sys::relaxed, sys::relaxed)) decide();
}

void turn_record::decide() noexcept {
    const hidden_scopes outside; // an executor may run the coroutine inside this call
    decided_.set();
}

void turn_record::leave() noexcept {
    if (all_.is_in_child()) return; // a lock may be locked forever
    // [LN5] Acquire: this thread sees the request as the lanes have left it. Pairs with the exchange in
    // begin().
    const phase before = phase_.exchange(phase::left, sys::acquire);
    if (before == phase::begun && !EKIDEN_MUTANT(turn_ends_without_release))
        all_.end_turn(*request_);
    else if (before == phase::waiting && is_enqueued_)
        all_.withdraw(*request_);
    lanes_state& all = all_;
    request_->end();
    if (!EKIDEN_MUTANT(turn_has_no_handle)) all.drop_handle();
}

void turn_record::drop_owner() noexcept { request_->end(); }

// ---- turn_mark

turn_mark::turn_mark(turn_record& newest) noexcept : newest_(&newest) {
    if (!EKIDEN_MUTANT(turn_mark_is_no_owner)) newest.add_owner();
}

turn_mark::turn_mark(const turn_mark& other) noexcept : newest_(other.newest_) {
    if (newest_ != nullptr) newest_->add_owner();
}

void turn_mark::forget() noexcept { newest_->drop_owner(); }

bool turn_mark::has_turn(const void* all) const noexcept {
    for (const turn_record* t = newest_; t != nullptr; t = t->outer.newest_)
        if (t->has_lanes() && (all == nullptr || t->lanes() == all)) return true;
    return false;
}

turn_mark turn_mark::without_ended() const noexcept {
    turn_record* newest = newest_;
    while (newest != nullptr && !newest->has_lanes()) newest = newest->outer.newest_;
    return newest != nullptr ? turn_mark(*newest) : turn_mark();
}

} // namespace ekiden::inline EKIDEN_ABI
