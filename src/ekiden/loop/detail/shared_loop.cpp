#include <ekiden/loop/detail/shared_loop.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/detail/run_task.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

shared_loop::shared_loop(context_id context, const sys::atomic<std::uint32_t>& gate, unsigned seats)
    : context_(context), generation_(sys::fork_generation()), queue_(gate),
      seats_(seats, {[](const void* self) noexcept {
                         return static_cast<const shared_loop*>(self)->queue_.maybe_filled();
                     },
                     this}) {}

/// A thread inside whose task is about to sleep has another one run what it has deferred.
class shared_loop::role final : public loop_role {
public:
    explicit role(shared_loop& loop) noexcept : loop_role(loop.context_), loop_(loop) {}

    void announce() noexcept override {
        if (runs_task && loop_.queue_.maybe_filled()) loop_.seats_.notify();
    }

    bool runs_task = false; // else it is the loop itself that sleeps, by its own protocol

private:
    shared_loop& loop_;
};

/// The calling thread inside run(), with what it keeps there.
class shared_loop::visit {
public:
    visit(shared_loop& loop, bool waits) noexcept : loop_(loop), role_(loop), scope_(role_) {
        if (is_nested()) {
            // In its outer run's seat. The task that has called this is outstanding work.
            role_.seat = role_.outer()->seat;
            loop_.seats_.work_started();
        } else {
            role_.seat = loop_.seats_.sit_down(waits);
        }
    }
    ~visit() {
        go_to_work();
        if (is_nested())
            loop_.seats_.work_finished();
        else if (seat() != loop_seats::none)
            loop_.seats_.stand_up(seat());
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    /// Before a task, and at the end: the thread searches no more, and watches no clock.
    void go_to_work() noexcept {
        role_.runs_task = true;
        if (has_token) {
            has_token = false;
            loop_.seats_.end_search();
        }
        if (keeps_time) {
            keeps_time = false;
            if (loop_.seats_.stop_keeping_time() && loop_.alarms_.next_ns() != loop_alarms::never)
                loop_.seats_.alarm_moved();
        }
    }

    void begin_task(const task& begun) noexcept { role_.running = begun.type(); }

    /// Before the loop itself sleeps.
    void go_to_sleep() noexcept { role_.runs_task = false; }

    /// Or none.
    [[nodiscard]] unsigned seat() const noexcept { return role_.seat; }

    bool has_token = false;
    bool keeps_time = false;
    unsigned turn = 0;
    loop_ticks ticks;

private:
    [[nodiscard]] bool is_nested() const noexcept { return role_.outer() != nullptr; }

    shared_loop& loop_;
    role role_;
    const role_scope scope_;
    const hidden_scopes strands_; // around this run: its tasks are outside of them
};

// ---- the loop

std::size_t shared_loop::run(const loop_request& request) {
    if (seats_.is_stopped()) return 0;
    visit here(*this, request.waits);
    if (here.seat() == loop_seats::none) return 0;
    here.ticks.begin_anew();
    alarms_.ring_if_due();
    std::size_t count = 0;
    while (count != request.most && !request.is_over()) {
        task* const found = next(here, request);
        if (found == nullptr) return count;
        here.go_to_work();
        ++count;
        here.begin_task(*found);
        run_task(*found);
        expect_no_child(generation_);
        if (alarms_.any() && here.ticks.is_time()) {
            here.ticks.begin();
            alarms_.ring_if_due();
        }
    }
    // The context stops with its last task, also in run_one().
    if (seats_.is_last() && !queue_.maybe_filled() && !seats_.is_stopped()) finish_if_idle(here);
    return count;
}

/// The next task; or null: stopped, out of work, out of time, or there is none now and the caller does not
/// wait.
task* shared_loop::next(visit& here, const loop_request& request) noexcept {
    for (;;) {
        if (seats_.is_stopped()) return nullptr;
        if (task* const found = find(here)) return found;
        if (alarms_.ring_if_due()) continue;
        if (!request.waits) {
            if (!seats_.is_last() || queue_.maybe_filled()) return nullptr;
            finish_if_idle(here);
            if (!here.has_token) return nullptr; // else there is more
            continue;
        }
        if (task* const found = search(here)) return found;
        park(here, request);
        if (request.is_over()) return nullptr;
    }
}

/// Returns the oldest task of a producer: of the same one for a while, then of the next.
task* shared_loop::find(visit& here) noexcept { return queue_.take_one(++here.turn / fair_turn); }

/// Looks for a task for a while, unless another thread does so already, or nothing can come.
task* shared_loop::search(visit& here) noexcept {
    if (!here.has_token && !seats_.is_last()) here.has_token = seats_.try_begin_search();
    if (!here.has_token || alarms_.is_near()) return nullptr;
    task* found = nullptr;
    (void)sys::spin_until([&] {
        found = find(here);
        return found != nullptr || seats_.is_stopped() || seats_.is_last();
    });
    return found;
}

void shared_loop::park(visit& here, const loop_request& request) noexcept {
    recycler::flush();
    seats_.prepare_wait(here.seat(), std::exchange(here.has_token, false));
    const bool saw_work = queue_.maybe_filled();
    // The owner of the token will look again, or see to it that somebody does.
    if ((saw_work && !seats_.is_searched()) || seats_.is_stopped()) {
        here.has_token = seats_.cancel_wait(here.seat()) == loop_seats::wake_up::notified;
        // Others may have left more work to the token that was given back above: whoever takes it on must
        // look again.
        if (saw_work && !here.has_token) here.has_token = seats_.try_begin_search();
        return;
    }
    if (!saw_work) {
        const loop_seats::verdict found = seats_.try_finish(here.seat());
        if (found != loop_seats::verdict::not_yet) {
            here.has_token = found == loop_seats::verdict::look_again;
            return;
        }
    }
    sleep(here, request);
}

void shared_loop::sleep(visit& here, const loop_request& request) noexcept {
    sys::clock::time_point until = sys::clock::time_point::max();
    if (request.deadline != nullptr) until = *request.deadline;
    if (alarms_.any() && seats_.try_keep_time(here.seat())) {
        here.keeps_time = true;
        const std::int64_t next = alarms_.next_ns();
        if (next != loop_alarms::never) until = std::min(until, loop_time(next));
    }
    here.go_to_sleep();
    const trace::detail::interval parked(trace::kind::parked, "parked", 0);
    const bool is_limited = until != sys::clock::time_point::max();
    here.has_token =
        seats_.commit_wait(here.seat(), is_limited ? &until : nullptr) == loop_seats::wake_up::notified;
}

/// Stops the context if all other threads wait, and there is nothing left. `has_token` afterwards: there is.
void shared_loop::finish_if_idle(visit& here) noexcept {
    seats_.prepare_wait(here.seat(), std::exchange(here.has_token, false));
    const loop_seats::verdict found =
        queue_.maybe_filled() ? loop_seats::verdict::not_yet : seats_.try_finish(here.seat());
    here.has_token = found == loop_seats::verdict::look_again;
    if (found == loop_seats::verdict::not_yet)
        here.has_token = seats_.cancel_wait(here.seat()) == loop_seats::wake_up::notified;
}

void shared_loop::abandon_all() noexcept {
    queue_.quiesce();
    while (task* const found = queue_.take_one(0)) found->abandon();
}

} // namespace ekiden::inline EKIDEN_ABI
