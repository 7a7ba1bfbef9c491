#include <ekiden/lanes/lane_turn.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/lanes/detail/lanes_state.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/mutant.hpp>

namespace ekiden::inline EKIDEN_ABI {

// ---- turn_record

turn_record::turn_record(lanes_state& of) noexcept : all_(of) {}

void turn_record::belongs_to(lane_request& whole) noexcept {
    request_ = &whole;
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
    // First, because the coroutine may end the turn as soon as it has begun.
    if (!EKIDEN_MUTANT(turn_is_no_work)) all_.begin_turn();
    phase expected = phase::waiting;
    // [LN5] Release: leave() sees the request as the lanes have left it. Pairs with the exchange in leave().
    // Relaxed on failure, because the request only ends.
    if (!phase_.compare_exchange_strong(expected, phase::begun, sys::release, sys::relaxed)
        && !EKIDEN_MUTANT(turn_begins_after_withdrawal)) {
        all_.forget_turn();
        request_->has_run.write(false);
        request_->is_lost = !EKIDEN_MUTANT(turn_forgets_a_late_withdrawal);
        return false;
    }
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

/// An element of the list of a mark. Each mark and each newer node that points to a node is an owner of it.
struct turn_mark::node {
    node(turn_record& marked, node* before) noexcept : turn(marked), next(before) {
        if (!EKIDEN_MUTANT(turn_mark_is_no_owner)) turn.add_owner();
    }

    turn_record& turn;
    node* const next;
    sys::atomic<std::uint32_t> owners{1};
};

turn_mark::turn_mark(const turn_mark& other) noexcept : newest_(other.newest_) {
    if (newest_ != nullptr) newest_->owners.fetch_add(1, sys::relaxed);
}

void turn_mark::drop(node* newest) noexcept {
    // [LN6] acq_rel. Release: publishes what was read through this mark. Acquire: the last owner frees the
    // node after all other owners have read it.
    while (newest != nullptr && newest->owners.fetch_sub(1, sys::acq_rel) == 1) {
        node* const next = newest->next;
        newest->turn.drop_owner();
        recycler::destroy(newest);
        newest = next;
    }
}

bool turn_mark::has_turn(const void* all) const noexcept {
    for (const node* n = newest_; n != nullptr; n = n->next)
        if (n->turn.has_lanes() && (all == nullptr || n->turn.lanes() == all)) return true;
    return false;
}

turn_mark turn_mark::with(turn_record& wanted) const {
    turn_mark result;
    const auto push = [&result](turn_record& turn) {
        result.newest_ = recycler::create<node>(turn, result.newest_);
    };
    // Turns that have ended are left out. So the list does not grow if a coroutine always has some turn.
    for (const node* n = newest_; n != nullptr; n = n->next)
        if (n->turn.has_lanes()) push(n->turn);
    push(wanted);
    return result;
}

} // namespace ekiden::inline EKIDEN_ABI
