#include <ekiden/flow/detail/flow_run.hpp>

#include <ekiden/async/detail/group.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/topology.hpp>

#include <mutex>
#include <string>
#include <system_error>

namespace ekiden::inline EKIDEN_ABI::detail {

namespace {

[[noreturn]] void throw_busy(const char* name) {
    throw std::system_error(std::make_error_code(std::errc::device_or_resource_busy),
                            std::string("ekiden: ") + name + ": a run is in progress");
}

} // namespace

future<bool> flow_run::begin(any_executor where, const std::stop_token& stop, waiting_call* caller) {
    promise<bool> fresh;
    auto result = fresh.get_future();
    {
        const std::lock_guard guard(lock_);
        if (promise_) throw_busy(name_);
        // If the last run has failed or was stopped, its source must not reach this run. A request_stop() of
        // the last run may still be about to call its source.
        if (stop_.stop_requested() || (is_stopped_ && !EKIDEN_MUTANT(flow_run_keeps_a_source_to_stop)))
            stop_ = std::stop_source();
        is_stopped_ = false;
        caller_ = caller;
        if (caller != nullptr && caller->roots) end_.emplace(*caller->roots);
        promise_ = std::move(fresh);
        begun_in_ = sys::fork_generation();
        is_over_.store(false, sys::relaxed);
    }
    where_ = std::move(where);
    runs_.add();
    if (stop.stop_possible()) on_stop_.emplace(stop, ender{this});
    return result;
}

void flow_run::end() noexcept {
    // If another thread runs the callback, reset() waits for it. So a late request cannot reach the next run.
    on_stop_.reset();
    std::exception_ptr error;
    bool is_whole = false;
    std::optional<root_wait::root_end> last; // destroyed after the result is set
    std::optional<promise<bool>> told;
    {
        const std::lock_guard guard(lock_);
        error = std::exchange(first_, nullptr);
        is_whole = !is_stopped_;
        caller_ = nullptr;
        told.swap(promise_);
        if (end_) last.emplace(std::move(*end_));
        end_.reset();
    }
    runs_.end(); // from here on, the owner may destroy this object
    if (error != nullptr)
        told->set_exception(std::move(error));
    else
        told->set_value(is_whole);
}

void flow_run::expect_idle() const {
    const std::lock_guard guard(lock_);
    if (promise_) throw_busy(name_);
}

void flow_run::stop_and_wait(bool has_coroutines) noexcept {
    // In the child of a fork(), the last run never ends, and another thread may have held the lock.
    if (begun_in_ != sys::fork_generation()) return;
    (void)request_stop();
    if (has_coroutines) {
        std::optional<root_wait> roots;
        {
            const std::lock_guard guard(lock_);
            if (promise_) {
                roots.emplace(use_service<coroutine_service>(where_.context()).buried());
                end_.emplace(*roots);
            }
        }
        if (roots) roots->wait();
    }
    (void)runs_.wait(wait_limit(), begun_in_);
}

bool flow_run::request_stop() noexcept {
    std::stop_source source(std::nostopstate);
    {
        const std::lock_guard guard(lock_);
        if (!promise_ || is_stopped_) return false;
        is_stopped_ = true;
        is_over_.store(true, sys::relaxed);
        source = stop_;
    }
    (void)source.request_stop(); // without the lock, because request_stop() runs callbacks
    return true;
}

bool flow_run::stop_requested() const noexcept {
    const std::lock_guard guard(lock_);
    return is_stopped_;
}

std::stop_token flow_run::get_stop_token() const noexcept {
    const std::lock_guard guard(lock_);
    return stop_.get_token();
}

void flow_run::fail(std::exception_ptr error) noexcept {
    std::stop_source source(std::nostopstate);
    const bool is_stop = is_of_stop(error);
    {
        const std::lock_guard guard(lock_);
        is_over_.store(true, sys::relaxed);
        source = stop_;
        const bool is_known = is_stopped_ || first_ != nullptr;
        if (!is_stop || !is_known) {
            if (first_ == nullptr) {
                first_ = std::move(error);
            } else if (caller_ != nullptr) {
                try {
                    caller_->others.push_back(std::move(error));
                } catch (...) { // no memory, so the exception is lost
                }
            }
        }
    }
    (void)source.request_stop();
}

void flow_run::post_by(const any_executor& where, task& posted) noexcept {
    try {
        (void)accept_task(where, &posted, task_order::usual);
    } catch (...) { // the executor has abandoned the task
    }
}

std::size_t checked_in_flight(const any_executor& where, std::size_t asked, std::size_t most) {
    if (asked > most) sys::refuse_argument("pipeline", "in_flight", asked, "0 to " + std::to_string(most));
    if (asked != 0) return asked;
    const auto* const pool = where.target<thread_pool::executor_type>();
    return std::size_t{4} * (pool != nullptr ? pool->context().thread_count() : sys::usable_concurrency());
}

} // namespace ekiden::inline EKIDEN_ABI::detail
