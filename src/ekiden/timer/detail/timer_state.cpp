#include <ekiden/timer/detail/timer_state.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/timer/detail/timer_driver.hpp>
#include <ekiden/timer/detail/timer_queue.hpp>

#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

static_assert(sizeof(void*) != 8 || sizeof(timer_state) == 64, "one small node, one cache line");

/// An object on the stack of a thread that posts waits of a timer.
class timer_state::post_scope {
public:
    explicit post_scope(timer_state& posted) noexcept;
    ~post_scope();
    post_scope(const post_scope&) = delete;
    post_scope& operator=(const post_scope&) = delete;

    timer_state& state;
    const post_scope* const outer; // the enclosing scope in this thread, or null
};

namespace {

struct innermost_wait {
    const timer_wait::run_scope* scope = nullptr;
    const void* posting = nullptr; // points to a post_scope
};

} // namespace

// ---- a handler begins and returns

timer_wait::run_scope::run_scope(timer_wait& begun) noexcept
    : state_(*begun.state_), outer_(std::exchange(sys::local<innermost_wait>().scope, this)),
      is_canceled_(state_.begin(begun)) {}

timer_wait::run_scope::~run_scope() {
    sys::local<innermost_wait>().scope = outer_;
    state_.end();
}

void timer_wait::drop() noexcept {
    if (state_ != nullptr) state_->drop(*this);
}

/// Decides what the handler reports. Removes the wait from the list that cancel() searches.
bool timer_state::begin(timer_wait& begun) noexcept {
    if (is_of_parent()) return begun.is_canceled_; // another thread may have held the lock
    const std::lock_guard guard(lock_);
    posted_.remove(begun);
    if (!begun.is_canceled_) count_waiting(count_.load(sys::relaxed) - 1);
    running_.store(running_.load(sys::relaxed) + 1, sys::relaxed);
    return begun.is_canceled_;
}

void timer_state::end() noexcept {
    if (is_of_parent()) return;
    lock_guard guard(lock_);
    const std::uint32_t others = running_.load(sys::relaxed) - 1;
    running_.store(others, sys::relaxed);
    const bool wakes = has_sleepers_ && others == 0 && !EKIDEN_MUTANT(timer_end_forgets_to_wake);
    unlock_and_end(guard);
    // Uses only the address of running_, because the state may have been destroyed.
    if (wakes) sys::futex_wake_all(running_);
}

void timer_state::drop(timer_wait& dropped) noexcept {
    if (is_of_parent()) return;
    lock_guard guard(lock_);
    posted_.remove(dropped);
    if (!dropped.is_canceled_) count_waiting(count_.load(sys::relaxed) - 1);
    unlock_and_end(guard);
}

// ---- called by the timer

timer_state::timer_state(timer_queue& queue) noexcept : queue_(queue), generation_(queue.generation()) {}

void timer_state::add(timer_wait& fresh, std::uint64_t deadline) {
    if (is_of_parent()) {
        throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                                "ekiden: timer: a wait in the child of a fork(), where its context does not "
                                "exist");
    }
    queue_.driver().start();
    lock_guard guard(lock_);
    auto how = timer_queue::arming::done;
    if (!is_armed_) how = queue_.arm(*this, deadline);
    if (how == timer_queue::arming::closed) {
        guard.unlock();
        fresh.abandon();
        return;
    }
    fresh.state_ = this;
    waiting_.append(fresh);
    count_waiting(count_.load(sys::relaxed) + 1);
    if (how == timer_queue::arming::due) {
        fresh.is_due_ = true;
        post_due(guard);
    } else {
        is_armed_ = true;
    }
    // While this thread holds the lock, no handler can begin and destroy the context with its driver.
    if (how == timer_queue::arming::earlier) queue_.driver().moved();
    unlock_and_end(guard); // destroys the state if a running handler has destroyed its timer
}

std::size_t timer_state::cancel() noexcept {
    if (nobody_waits() || is_of_parent()) return 0;
    lock_guard guard(lock_);
    const std::size_t canceled = cancel_all();
    post_due(guard);
    unlock_and_end(guard);
    return canceled;
}

std::size_t timer_state::cancel_one() noexcept {
    if (nobody_waits() || is_of_parent()) return 0;
    lock_guard guard(lock_);
    const std::size_t canceled = cancel_oldest();
    post_due(guard);
    unlock_and_end(guard);
    return canceled;
}

void timer_state::leave() noexcept {
    if (is_of_parent()) return;
    lock_guard guard(lock_);
    (void)cancel_all();
    post_due(guard);
    is_owned_ = false;
    unlock_and_end(guard);
}

std::size_t timer_state::cancel_and_wait() noexcept {
    std::size_t canceled = cancel();
    if (is_of_parent() || is_in_handler()) return canceled;
    lock_guard guard(lock_);
    for (;;) {
        if (const std::uint32_t others = running_.load(sys::relaxed)) {
            // has_sleepers_ is never cleared, because a sleeper may miss a moment in which running_ is 0
            has_sleepers_ = true;
            guard.unlock();
            {
                const blocked_here here("the end of a timer's handler");
                sys::futex_wait(running_, others);
            }
            guard.lock();
        } else if (const std::size_t more = cancel_all()) { // cancels waits that the handler has started
            canceled += more;
            post_due(guard); // releases the lock temporarily
        } else {
            return canceled;
        }
    }
}

// ---- called by the queue

void timer_state::fire() noexcept {
    lock_guard guard(lock_);
    if (is_outdated_ && !EKIDEN_MUTANT(timer_fires_what_was_disarmed)) {
        is_outdated_ = false;
    } else {
        trace::detail::moment(trace::kind::timer, this);
        is_armed_ = false;
        timer_wait* one = waiting_.first;
        for (bool more = one != nullptr; more; more = (one = one->next_) != waiting_.first)
            one->is_due_ = true;
        post_due(guard);
    }
    unlock_and_end(guard);
}

void timer_state::abandon() noexcept {
    list dropped;
    lock_guard guard(lock_);
    if (is_outdated_) {
        is_outdated_ = false;
    } else {
        is_armed_ = false;
        dropped = take_waiting();
    }
    unlock_and_end(guard);
    dropped.abandon_all(); // without the lock, because the destructor of a handler may do anything
}

void timer_state::abandon_what_is_posted_here(const timer_queue& queue) noexcept {
    const auto* here = static_cast<const post_scope*>(sys::local<innermost_wait>().posting);
    for (; here != nullptr; here = here->outer) { // each scope keeps its state alive
        if (&here->state.queue_ != &queue) continue;
        lock_guard guard(here->state.lock_);
        list dropped = here->state.take_waiting();
        guard.unlock();
        dropped.abandon_all();
    }
}

timer_state::post_scope::post_scope(timer_state& posted) noexcept
    : state(posted),
      outer(static_cast<const post_scope*>(std::exchange(sys::local<innermost_wait>().posting, this))) {}

timer_state::post_scope::~post_scope() { sys::local<innermost_wait>().posting = outer; }

// ---- called with the lock held

timer_state::list timer_state::take_waiting() noexcept {
    const list taken = std::exchange(waiting_, {});
    timer_wait* one = taken.first;
    for (bool more = one != nullptr; more; more = (one = one->next_) != taken.first) {
        one->state_ = nullptr;
        if (!one->is_canceled_) count_waiting(count_.load(sys::relaxed) - 1);
    }
    return taken;
}

std::size_t timer_state::cancel_all() noexcept {
    const std::size_t canceled = count_.load(sys::relaxed);
    if (canceled == 0) return 0;
    timer_wait* one = waiting_.first;
    if (one != nullptr) { // so that the processor loads the wait and the wheel at the same time
        sys::prefetch_to_write(one);
        sys::prefetch(reinterpret_cast<std::byte*>(one) + sys::cache_line);
    }
    disarm();
    for (bool more = one != nullptr; more; more = (one = one->next_) != waiting_.first)
        one->is_due_ = one->is_canceled_ = true;
    if (timer_wait* const oldest = posted_.first;
        oldest != nullptr && !EKIDEN_MUTANT(timer_cancel_spares_queued)) {
        // Marks the waits from the newest to the oldest. Stops at the first wait that an earlier call has
        // canceled.
        one = oldest->prev_;
        for (bool more = true; more && !one->is_canceled_; one = one->prev_) {
            one->is_canceled_ = true;
            more = one != oldest;
        }
    }
    count_waiting(0);
    return canceled;
}

std::size_t timer_state::cancel_oldest() noexcept {
    if (count_.load(sys::relaxed) == 0) return 0;
    timer_wait* one = posted_.first;
    bool more = one != nullptr;
    while (more && one->is_canceled_) more = (one = one->next_) != posted_.first;
    if (!more) {
        one = waiting_.first; // the loop finds a wait, because count_ is not 0
        while (one->is_canceled_) one = one->next_;
        one->is_due_ = true;
    }
    one->is_canceled_ = true;
    count_waiting(count_.load(sys::relaxed) - 1);
    // Disarms the state if no remaining wait needs the alarm.
    if (waiting_.first == nullptr || waiting_.first->prev_->is_due_) disarm();
    return 1;
}

void timer_state::disarm() noexcept {
    if (!is_armed_) return;
    is_armed_ = false;
    if (!queue_.disarm(*this)) is_outdated_ = true;
}

/// Posts the waits that are due, in order. Releases the lock for each post, because an executor may destroy
/// the handler instead of accepting it, and the destructor of a handler may do anything. Only one thread at a
/// time posts waits of a timer. This thread also posts the waits that become due meanwhile.
void timer_state::post_due(lock_guard& guard) noexcept {
    if (is_posting_ && !EKIDEN_MUTANT(timer_posts_beside_another)) return;
    is_posting_ = true;
    const post_scope here(*this);
    while (waiting_.first != nullptr && waiting_.first->is_due_) {
        timer_wait& one = *waiting_.first;
        waiting_.remove(one);
        posted_.append(one);
        guard.unlock();
        one.post_(one);
        guard.lock();
    }
    is_posting_ = false;
}

bool timer_state::is_unused() const noexcept {
    return !is_owned_ && !is_armed_ && !is_outdated_ && !is_posting_ && waiting_.first == nullptr
           && posted_.first == nullptr && running_.load(sys::relaxed) == 0;
}

void timer_state::unlock_and_end(lock_guard& guard) noexcept {
    const bool is_last = is_unused() || (EKIDEN_MUTANT(timer_state_goes_with_its_timer) && !is_owned_);
    guard.unlock();
    if (is_last) recycler::destroy(this);
}

/// Checks count_ without the lock. Sees every wait whose add() is ordered before this call, and may miss
/// other waits.
bool timer_state::nobody_waits() const noexcept {
    // [TM5] Acquire: makes everything visible that happened before the count changed. Pairs with the release
    // in count_waiting().
    return count_.load(sys::acquire) == 0;
}

void timer_state::count_waiting(std::uint32_t now) noexcept {
    count_.store(now, sys::release); // [TM5] Release: pairs with the acquire in nobody_waits()
}

bool timer_state::is_of_parent() const noexcept { return generation_ != sys::fork_generation(); }

bool timer_state::is_in_handler() const noexcept {
    const timer_wait::run_scope* here = sys::local<innermost_wait>().scope;
    while (here != nullptr && &here->state_ != this) here = here->outer_;
    return here != nullptr;
}

// ---- the circular list of waits

void timer_state::list::append(timer_wait& fresh) noexcept {
    if (first == nullptr) {
        first = fresh.next_ = fresh.prev_ = &fresh;
    } else {
        fresh.next_ = first;
        fresh.prev_ = first->prev_;
        first->prev_->next_ = &fresh;
        first->prev_ = &fresh;
    }
}

void timer_state::list::remove(timer_wait& one) noexcept {
    if (one.next_ == &one) {
        first = nullptr;
        return;
    }
    one.prev_->next_ = one.next_;
    one.next_->prev_ = one.prev_;
    if (first == &one) first = one.next_;
}

void timer_state::list::abandon_all() noexcept {
    while (timer_wait* const one = first) {
        remove(*one);
        one->abandon();
    }
}

} // namespace ekiden::inline EKIDEN_ABI
