#include <ekiden/async/detail/stop_state.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>
#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Describes the call of request_stop() that calls the callbacks. The lock of the state guards `thread` and
/// `current`. Only the thread that calls the callbacks uses `is_gone`.
struct stop_state::calling {
    const void* thread;
    stop_node* current = nullptr; // the node whose callback is running
    bool is_gone = false;         // true if a callback has destroyed the state
};

namespace {

struct mark {
    char nothing;
};
/// Returns an address that identifies the thread.
const void* this_thread() noexcept { return &sys::local<mark>(); }

} // namespace

// ---- a node

bool stop_node::arm(stop_state& state) noexcept {
    sys::expects(state_ == nullptr, "stop_node: armed again without disarm()");
    return state.add(*this); // must be the last step, because the callback may destroy the node
}

bool stop_node::disarm() noexcept {
    if (state_ != nullptr) std::exchange(state_, nullptr)->remove(*this);
    return !has_run_;
}

// ---- the state

stop_state::stop_state(stop_state* parent) noexcept : link_(*this) {
    // Relaxed is enough, because no other thread uses the state yet.
    if (parent != nullptr && !link_.arm(*parent)) word_.store(requested, sys::relaxed);
}

stop_state::~stop_state() {
    (void)link_.disarm();
    sys::expects(first_ == nullptr, "stop_state: destroyed while a stop_node is armed");
    // Relaxed is enough. A request that does not come from the parent happens before this call. For a request
    // from the parent, disarm() has waited.
    if ((word_.load(sys::relaxed) & requested) == 0) return;
    lock_guard guard(lock_);
    if (calling_ == nullptr) return;
    if (calling_->thread == this_thread())
        calling_->is_gone = true;
    else if (!EKIDEN_MUTANT(stop_state_leaves_its_requester))
        sleep_while(guard, [this] { return calling_ != nullptr; });
}

bool stop_state::request_stop() noexcept {
    if (stop_requested()) return false;
    calling here{this_thread()};
    lock_guard guard(lock_);
    const std::uint32_t before = word_.load(sys::relaxed);
    if ((before & requested) != 0) return false;
    word_.store(before | requested, sys::release); // [SR1] Release: publishes this thread's earlier writes.
    calling_ = &here;
    while (stop_node* const oldest = first_) {
        unlink(*oldest);
        oldest->has_run_ = true;
        here.current = oldest;
        guard.unlock();
        oldest->call_(*oldest);
        if (here.is_gone) return true;
        guard.lock();
        here.current = nullptr;
        wake_sleepers();
    }
    calling_ = nullptr;
    wake_sleepers();
    return true; // another thread may destroy the state as soon as the lock is free
}

bool stop_state::add(stop_node& fresh) noexcept {
    const lock_guard guard(lock_);
    fresh.has_run_ = false;
    if ((word_.load(sys::relaxed) & requested) != 0 && !EKIDEN_MUTANT(stop_arm_does_not_look)) return false;
    fresh.state_ = this;
    if (first_ == nullptr) {
        first_ = fresh.next_ = fresh.prev_ = &fresh;
    } else {
        fresh.next_ = first_;
        fresh.prev_ = first_->prev_;
        first_->prev_->next_ = &fresh;
        first_->prev_ = &fresh;
    }
    return true;
}

void stop_state::remove(stop_node& node) noexcept {
    lock_guard guard(lock_);
    if (node.next_ != nullptr) {
        unlink(node);
    } else if (calling_ != nullptr && calling_->current == &node && calling_->thread != this_thread()
               && !EKIDEN_MUTANT(stop_disarm_does_not_wait)) {
        sleep_while(guard, [this, &node] { return calling_ != nullptr && calling_->current == &node; });
    }
}

// ---- with the lock

void stop_state::unlink(stop_node& node) noexcept {
    if (node.next_ == &node) {
        first_ = nullptr;
    } else {
        node.prev_->next_ = node.next_;
        node.next_->prev_ = node.prev_;
        if (first_ == &node) first_ = node.next_;
    }
    node.next_ = nullptr;
}

/// Sleeps while `is_so()` returns true. A sleeper sets has_sleepers under the lock, and sleeps until the word
/// changes. After each callback, the thread that called it finds this bit and changes the word. So a sleeper
/// never misses the return of a callback. Every such change of the word is a read-modify-write operation,
/// which continues the release sequence of [SR1].
template <class Condition>
void stop_state::sleep_while(lock_guard& guard, Condition is_so) noexcept {
    while (is_so()) {
        const std::uint32_t seen = word_.fetch_or(has_sleepers, sys::relaxed) | has_sleepers;
        guard.unlock();
        if (!sys::spin_until([this, seen] { return word_.load(sys::relaxed) != seen; })) {
            const blocked_here here("the end of a stop callback");
            sys::futex_wait(word_, seen);
        }
        guard.lock();
    }
}

/// Wakes all sleepers. Called under the lock, so that no sleeper can continue and destroy the state during
/// the call.
void stop_state::wake_sleepers() noexcept {
    if ((word_.load(sys::relaxed) & has_sleepers) == 0 || EKIDEN_MUTANT(stop_end_forgets_to_wake)) return;
    word_.fetch_add(has_sleepers, sys::relaxed); // clears the bit, and increments the count above it
    (void)sys::futex_wake_all(word_);
}

} // namespace ekiden::inline EKIDEN_ABI
