#include <ekiden/async/detail/group.hpp>
#include <ekiden/async/detail/resume_loop.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

namespace {

/// A call of group::run(). The object lies on the stack of the calling thread.
struct beginning {
    const group_member::promise_type* member;
    beginning* outer;
    unsigned depth;
    bool has_ended; // the member has ended inside the call
};
struct innermost {
    beginning* begins;
};
struct turn {
    unsigned next;
};

/// The number of levels of groups whose members may begin inside each other, on one stack. A member at a
/// deeper level is posted to its executor.
constexpr unsigned max_depth = 16;

} // namespace

bool is_to_stop(const stop_state& stop, const environment& env) noexcept {
    return stop.stop_requested()
           || (env.deadline != sys::clock::time_point::max() && now_here<sys::clock>() >= env.deadline);
}

bool is_of_stop(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const std::system_error& thrown) {
        return thrown.code() == std::errc::operation_canceled;
    } catch (...) {
        return false;
    }
}

// ---- the members begin

EKIDEN_NOINLINE void group::run(group_member::promise_type& fresh) noexcept {
    fresh.older_ = newest_;
    newest_ = &fresh;
    beginning*& top = sys::local<innermost>().begins;
    beginning here{&fresh, top, top == nullptr ? 1 : top->depth + 1, false};
    if (here.depth > max_depth) {
        ++pending_;
        fresh.post(task_order::usual);
        return;
    }
    top = &here;
    run_coroutines(fresh.handle());
    top = here.outer;
    if (!here.has_ended) ++pending_;
}

/// Each member that ends decrements left_, which is 0 at first. publish() adds the number of pending members.
/// Only after this addition can left_ become 0 again. The thread that makes left_ 0 continues with the
/// awaiting coroutine.
bool group::publish(std::ptrdiff_t others) noexcept {
    const std::ptrdiff_t expected = pending_ + others;
    if (expected == 0) return false; // no other thread uses the group.
    // [GP1] Release: publishes the list of members. Acquire: this thread sees what the ended members have
    // done. Pairs with the operation in count_end().
    return left_.fetch_add(expected, sys::acq_rel) + expected != 0;
}

// ---- and end

/// Counts the end of a member, or of an activity that is not a member. Returns true for the last end. If
/// count_end() returns false, the group may already have been destroyed.
bool group::count_end() noexcept {
    // [GP1] Release: publishes what this member has done. Acquire: the last member sees what all other
    // members have done. Pairs with this operation in other threads, and with publish().
    return left_.fetch_sub(1, sys::acq_rel) == 1;
}

EKIDEN_NOINLINE std::coroutine_handle<> group::ended(group_member::promise_type& member) noexcept {
    if (beginning* const here = sys::local<innermost>().begins; here != nullptr && here->member == &member) {
        here->has_ended = true; // run() is still active on this stack, and will not count this member
        return std::noop_coroutine();
    }
    member_ends();
    if (!count_end()) return std::noop_coroutine();
    member.link = &link_;
    return end_of(member);
}

void group::abandoned() noexcept {
    failed(canceled_error("an executor has dropped a member of the group"));
    member_ends();
    other_ended();
}

void group::other_ended() noexcept {
    if (count_end()) way_home_.resume();
}

// ---- outcome

bool group::decide() noexcept {
    // Relaxed is enough, because count_end() publishes the outcome [GP1].
    if (decided_.exchange(true, sys::relaxed)) return false;
    if (!EKIDEN_MUTANT(when_any_spares_the_rest)) (void)stop_->request_stop();
    return true;
}

void group::failed_after_all(std::exception_ptr error) noexcept { error_ = std::move(error); }

void group::failed(std::exception_ptr error) noexcept {
    if (is_to_stop(*stop_, env_) && is_of_stop(error)) {
        if (!is_stopped_.exchange(true, sys::relaxed)) error_of_stop_ = std::move(error);
    } else if (!decided_.exchange(true, sys::relaxed)) {
        error_ = std::move(error);
        (void)stop_->request_stop();
    } else {
        others_.add(std::move(error));
    }
}

void error_list::add(std::exception_ptr error) noexcept {
    node* fresh = nullptr;
    try {
        fresh = new node{std::move(error), newest_.load(sys::relaxed)};
    } catch (...) { // no memory
        return;
    }
    // Relaxed is enough, because only take() reads the nodes, and every add() happens before take().
    while (!newest_.compare_exchange_weak(fresh->older, fresh, sys::relaxed, sys::relaxed)) {
    }
}

std::vector<std::exception_ptr> error_list::take() noexcept {
    std::vector<std::exception_ptr> all;
    node* one = newest_.load(sys::relaxed);
    newest_.store(nullptr, sys::relaxed);
    while (one != nullptr) {
        const std::unique_ptr<node> kept(std::exchange(one, one->older));
        try {
            all.push_back(std::move(kept->error));
        } catch (...) { // there is no memory, so this exception is dropped
        }
    }
    std::reverse(all.begin(), all.end());
    return all;
}

void group::finish() {
    end_members();
    stop_.reset();
    if (error_ != nullptr) std::rethrow_exception(error_);
    if (error_of_stop_ != nullptr && !decided_.load(sys::relaxed)) std::rethrow_exception(error_of_stop_);
}

void group::finish_several() {
    end_members(); // their destructors may replace the thread's list of suppressed exceptions
    replace_suppressed(others_.take());
    finish();
}

std::size_t group::first_of(std::size_t count) noexcept {
    if (simulated_thread* const here = simulation_here()) [[unlikely]]
        return here->choose_next(static_cast<std::uint32_t>(count));
    return sys::local<turn>().next++ % count;
}

void group::end_members() noexcept {
    while (group_member::promise_type* const one = newest_) {
        newest_ = one->older_;
        one->destroy_awaited();
        one->handle().destroy();
    }
}

} // namespace ekiden::inline EKIDEN_ABI::detail
