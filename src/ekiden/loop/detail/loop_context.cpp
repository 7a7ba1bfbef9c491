#include <ekiden/loop/loop_context.hpp>

#include <ekiden/context/held_locks.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/execution/detail/own_thread.hpp>
#include <ekiden/loop/detail/shared_loop.hpp>
#include <ekiden/loop/detail/solo_loop.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdio>
#include <exception>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Calls `f` with the engine of this context.
template <class F>
auto loop_context::with_engine(F f) const {
    return solo_ != nullptr ? f(*solo_) : f(*shared_);
}

loop_context::loop_context(int concurrency_hint) {
    refuse_in_simulation(
        "a loop_context runs for real: use a sim_context with .in_order = true in its place");
    if (concurrency_hint < 1) {
        sys::refuse_argument("loop_context", "concurrency_hint", concurrency_hint,
                             "1 or more, and loop_context::many");
    }
    set_gate(gate_, ends, holds);
    set_entrance(*this);
    if (concurrency_hint == 1)
        solo_ = std::make_unique<solo_loop>(id());
    else
        shared_ = std::make_unique<shared_loop>(id());
}

loop_context::~loop_context() {
    if (is_in_forked_child()) {
        // The threads that used the context do not exist in the child. Their work is lost.
        (void)solo_.release();
        (void)shared_.release();
        return;
    }
    if (thread_role* const here = role_scope::find(id())) {
        const task::function running =
            solo_ != nullptr ? solo_->running_type() : static_cast<loop_role*>(here)->running;
        refuse_destruction("loop_context", true, running);
    }
    sys::expects(with_engine([](auto& engine) { return engine.is_empty(); }),
                 "a loop_context is destroyed while a thread is inside its run()");
    shut_down();
    end_services();
}

/// Abandons the queued tasks and refuses new tasks. No thread may be inside run() any more.
void loop_context::shut_down() noexcept {
    if ((gate_.load(sys::relaxed) & ends) != 0) return;
    sys::expects(!post_scope::is_in(*this),
                 "a loop_context is destroyed inside a post to a strand or lanes on the context");
    // [LO3] Acquire. A post that stopped the loop may not have left yet.
    for (sys::back_off others; entered_.load(sys::acquire) != 0 && !EKIDEN_MUTANT(loop_ends_beside_a_post);)
        others.wait();
    gate_.fetch_or(ends, sys::relaxed);
    shut_down_services();
    with_engine([](auto& engine) { engine.abandon_all(); });
}

void loop_context::refuse_in_child(const char* operation) const {
    if (!is_in_forked_child()) return;
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            std::string("ekiden: loop_context::") + operation
                                + " in the child of fork(); the context belongs to the parent");
}

// ---- tasks come in

bool loop_context::accept(task* accepted, task_order order) {
    if (is_in_forked_child() || (gate_.load(sys::relaxed) & ends) != 0) [[unlikely]]
        return refuse(accepted);
    trace::detail::moment(trace::kind::queued, accepted);
    if (solo_ == nullptr) return shared_->push(accepted, order) || refuse(accepted);
    solo_->push(accepted);
    return true;
}

bool loop_context::refuse(task* refused) {
    refused->abandon();
    refuse_in_child("post");
    return false;
}

void loop_context::keep() noexcept {
    sys::contract_broken("a loop_context is destroyed, or is used in the child of fork(), while an operation "
                         "of its scheduler is queued; no thread can complete it");
}

void loop_context::work_started() noexcept {
    if (is_in_forked_child()) return; // another thread may have held the lock
    with_engine([](auto& engine) { engine.work_started(); });
}

void loop_context::work_finished() noexcept {
    if (is_in_forked_child()) return;
    with_engine([](auto& engine) { engine.work_finished(); });
}

entrance::way loop_context::enter(bool) noexcept {
    entered_.fetch_add(1, sys::relaxed); // the post that this thread begins happens before the destructor
    if (!EKIDEN_MUTANT(loop_stops_beside_a_post)) work_started();
    return way::as_work;
}

void loop_context::leave(way) noexcept {
    if (!EKIDEN_MUTANT(loop_stops_beside_a_post)) work_finished();
    entered_.fetch_sub(1, sys::release); // [LO3] Release: this thread does not use the context any more
}

/// Called before (`counts` is false) and after a wait for the context. If the calling thread is in a
/// post_scope of the context, the scope does not count as outstanding work during the wait. For example, the
/// destructor of an abandoned function may call run().
void loop_context::count_own_scope(bool counts) noexcept {
    if (running_in_this_thread() || !post_scope::is_in(*this)) return; // a wait inside another wait
    if (counts)
        work_started();
    else
        work_finished();
}

void loop_context::executor_type::report_unhandled(const char*) const noexcept {
    post([failure = std::current_exception()] { std::rethrow_exception(failure); });
}

// ---- tasks are run

std::size_t loop_context::do_run(const loop_request& request) {
    refuse_in_child("run");
    if constexpr (lock_checks) warn_if_left_stopped();
    if (!request.waits) return with_engine([&](auto& engine) { return engine.run(request); });
    struct wait {
        loop_context& here;
        explicit wait(loop_context& context) noexcept : here(context) { here.count_own_scope(false); }
        ~wait() { here.count_own_scope(true); }
    } const waiting(*this);
    return with_engine([&](auto& engine) { return engine.run(request); });
}

/// In a debug build, prints a warning if the program posts to a stopped context and runs the context without
/// restart().
void loop_context::warn_if_left_stopped() noexcept {
    if (!is_stopped() || running_in_this_thread()) return;
    if (!with_engine([](auto& engine) { return engine.was_left_stopped(); })) return;
    std::fprintf(stderr,
                 "ekiden: loop_context: run() does nothing: the context stopped when it had no work, and "
                 "tasks were posted since; call restart() first\n");
}

std::size_t loop_context::run() { return do_run(loop_request{}); }
std::size_t loop_context::run_one() { return do_run(loop_request{.most = 1}); }
std::size_t loop_context::poll() { return do_run(loop_request{.waits = false}); }
std::size_t loop_context::poll_one() { return do_run(loop_request{.most = 1, .waits = false}); }
std::size_t loop_context::run(const wait_limit& limit) { return run_within(limit, loop_request::all); }
std::size_t loop_context::run_one(const wait_limit& limit) { return run_within(limit, 1); }

std::size_t loop_context::run_within(const wait_limit& limit, std::size_t most) {
    const std::stop_callback on_stop(limit.stop(), [this]() noexcept { stop(); });
    if (!limit.is_timed()) return do_run(loop_request{.most = most});
    std::size_t count = 0;
    for (;;) {
        const sys::clock::time_point deadline = limit.deadline();
        count += do_run(loop_request{.most = most, .deadline = &deadline});
        // The clock of the deadline may have been set meanwhile.
        if (count >= most || is_stopped() || limit.is_reached()) return count;
    }
}

bool loop_context::running_in_this_thread() const noexcept { return role_scope::find(id()) != nullptr; }

// ---- stop

void loop_context::stop() noexcept {
    if (is_in_forked_child()) return;
    // This is the first step, because another thread may destroy the context once the engine has stopped.
    gate_.fetch_or(holds, sys::relaxed);
    with_engine([](auto& engine) { engine.stop(); });
}

bool loop_context::is_stopped() const noexcept {
    return with_engine([](auto& engine) { return engine.is_stopped(); });
}

void loop_context::restart() noexcept {
    if (is_in_forked_child()) return;
    gate_.fetch_and(~holds, sys::relaxed);
    with_engine([](auto& engine) { engine.restart(); });
}

// ---- timers

bool loop_context::adopt(alarm_clock& clock) noexcept {
    return with_engine([&](auto& engine) { return engine.alarms().adopt(clock); });
}

void loop_context::alarm_moved() noexcept {
    if (is_in_forked_child()) return;
    if (solo_ == nullptr)
        shared_->alarm_moved();
    else if (!running_in_this_thread()) // the thread inside checks the alarm before it sleeps
        solo_->look_again();
}

// ---- events

bool loop_context::reserve_source(const void* kind) noexcept {
    return solo_ != nullptr && solo_->reserve_source(kind);
}

void loop_context::adopt(event_source& source) noexcept { solo_->adopt(source); }

} // namespace ekiden::inline EKIDEN_ABI
