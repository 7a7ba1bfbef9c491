#include <ekiden/loop/solo_loop.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/run_task.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>

namespace ekiden::inline EKIDEN_ABI {

// The thread is the queue's consumer always, but for its sleep: also while nobody is inside.
solo_loop::solo_loop(const void* context) noexcept : context_(context), generation_(sys::fork_generation()) {
    (void)queue_.try_begin();
}

/// The calling thread is inside run().
class solo_loop::visit {
public:
    explicit visit(solo_loop& loop) noexcept : loop_(loop), role_(loop.context_), scope_(role_) {
        if (role_.outer() != nullptr)
            loop_.work_started(); // the task that has called this
        else
            // acquire: what the thread has left that was inside before; pairs with the release below.
            sys::expects(loop_.inside_.exchange(1, sys::acquire) == 0,
                         "two threads at once run a loop_context with the concurrency hint 1");
    }
    ~visit() {
        if (role_.outer() != nullptr)
            loop_.work_finished();
        else
            loop_.inside_.store(0, sys::release);
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

private:
    solo_loop& loop_;
    loop_role role_;
    const role_scope scope_;
    const hidden_scopes strands_; // around this run: its tasks are outside of them
};

std::size_t solo_loop::run(const loop_request& request) {
    const visit here(*this);
    ticks_.begin_anew();
    alarms_.ring_if_due();
    std::size_t count = 0;
    while (count != request.most && !request.is_over()) {
        task* const found = next(request);
        if (found == nullptr) return count;
        ++count;
        execute(found);
        if (alarms_.any() && ticks_.is_time()) {
            ticks_.begin();
            alarms_.ring_if_due();
        }
    }
    // The context stops with its last task, also in run_one().
    if (queue_.is_drained() && !has_work_elsewhere() && !is_stopped()) (void)rest({.waits = false});
    return count;
}

void solo_loop::execute(task* taken) {
    running_type_ = taken->type();
    ++begun_;
    run_task(*taken);
    expect_no_child(generation_);
}

/// The next task; or null: stopped, out of work, out of time, or there is none now and the caller does not
/// wait.
task* solo_loop::next(const loop_request& request) noexcept {
    for (;;) {
        if (is_stopped()) return nullptr;
        if (task* const found = queue_.take()) return found;
        if ((word_.load(sys::relaxed) & look) != 0) word_.fetch_and(~look, sys::acquire); // [LP1]
        if (alarms_.ring_if_due()) continue;
        if (!queue_.is_drained()) {
            sys::yield(); // a push is under way
            continue;
        }
        if (request.waits && has_work_elsewhere()) {
            if (task* const found = spin()) return found;
        }
        if (rest(request) && !request.waits && queue_.is_drained()) return nullptr;
        if (request.is_over()) return nullptr;
    }
}

/// Looks for a task for a while.
task* solo_loop::spin() noexcept {
    if (alarms_.is_near()) return nullptr;
    task* found = nullptr;
    (void)sys::spin_until([&] {
        found = queue_.take();
        return found != nullptr || !queue_.is_drained() || (word_.load(sys::relaxed) & (look | stopped)) != 0;
    });
    return found;
}

/// Stops the context if there is no outstanding work; otherwise sleeps, if asked to, until there may be
/// something to do. False if something is queued.
bool solo_loop::rest(const loop_request& request) noexcept {
    if (!queue_.try_rest()) return false;
    recycler::flush();
    const std::int64_t alarm = alarms_.next_ns();
    sys::clock::time_point until = sys::clock::time_point::max();
    if (alarm != loop_alarms::never) until = loop_time(alarm);
    if (request.deadline != nullptr) until = std::min(until, *request.deadline);

    // relaxed up to the last step, [LP1] and [LP2]: all steps are of one word, and all but this thread's
    // loads are read-modify-writes, so the last one acquires what each before it has released.
    std::uint32_t now = word_.fetch_or(asleep, sys::relaxed) | asleep;
    while ((now & (work | look | stopped)) == 0) {
        if (now < one_work) {
            // A push since the queue was left has set `work`, or its call has not returned.
            if (word_.compare_exchange_strong(now, now | stopped, sys::relaxed, sys::relaxed)) break;
            continue;
        }
        if (!request.waits) break;
        const blocked_here waiting("work of a loop"); // if the thread works for another context too
        const trace::detail::interval parked(trace::kind::parked, "parked", 0);
        if (until == sys::clock::time_point::max())
            sys::futex_wait(word_, now);
        else if (!sys::futex_wait_until(word_, now, until))
            break;
        now = word_.load(sys::relaxed);
    }
    if (!queue_.try_begin()) {
        // A thread has pushed, and sees to it that a consumer comes: this is the one when it has said so.
        // Then it touches the loop no more, and its task may end that.
        while ((word_.load(sys::relaxed) & work) == 0 && !EKIDEN_MUTANT(solo_takes_over_early)) sys::yield();
    }
    // [LP1] acquire: what was done before the stop, or a look that came just now, or by the work that has
    // ended; [LP2] that a push is over. Pairs with the releases in ring() and work_finished().
    word_.fetch_and(~(asleep | work | look), sys::acquire);
    return true;
}

void solo_loop::ring(std::uint32_t why) noexcept {
    // [LP2] release: the push; pairs with the acquires in rest(). [LP1] release. The loop may be gone
    // afterwards: only the word's address is used.
    const std::uint32_t before = word_.fetch_or(why, sys::release);
    if ((before & (asleep | watched)) != 0) wake(before);
}

void solo_loop::wake(std::uint32_t seen) noexcept {
    if (EKIDEN_MUTANT(solo_rings_in_silence)) return;
    if ((seen & watched) != 0) [[unlikely]]
        sys::futex_wake_all(word_);
    else
        sys::futex_wake(word_);
}

void solo_loop::work_finished() noexcept {
    // [LP1] release: what the work has done. As in ring().
    const std::uint32_t before = word_.fetch_sub(one_work, sys::release);
    const bool was_last = before < 2 * one_work && !EKIDEN_MUTANT(solo_work_ends_in_silence);
    if ((was_last && (before & asleep) != 0) || (before & watched) != 0) wake(before);
}

void solo_loop::await_work(std::uint32_t most) noexcept {
    std::uint32_t now = word_.fetch_or(watched, sys::acquire) | watched; // [LP1]
    while (now / one_work > most && (now & stopped) == 0) {
        sys::futex_wait(word_, now);
        now = word_.load(sys::acquire); // [LP1]
    }
    word_.fetch_and(~watched, sys::relaxed);
}

void solo_loop::abandon_all() noexcept {
    for (;;) {
        if (task* const found = queue_.take())
            found->abandon();
        else if (queue_.is_drained())
            return;
        else
            sys::yield(); // a push is under way
    }
}

} // namespace ekiden::inline EKIDEN_ABI
