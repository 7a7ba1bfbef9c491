#include <ekiden/fork/task_group.hpp>

#include <ekiden/pool/default_pool.hpp>

#include <mutex>
#include <system_error>

namespace ekiden::inline EKIDEN_ABI {

task_group::task_group(on_error then) : task_group(this_pool(), then) {}

task_group::task_group(thread_pool& pool, on_error then) : pool_(pool), then_(then) {
    caught_.reserve(2); // the first exception and the pool's
    thrown_.reserve(2);
}

task_group::~task_group() { (void)wait_for_all(); }

void task_group::leave(bool has_begun) noexcept {
    if (!has_begun) dropped_.fetch_add(1, sys::relaxed); // ordered by pending_
    // [T1] release: the task's effects; acquire: end_, which wait() has written, and the other tasks'
    // effects.
    if (pending_.fetch_sub(1, sys::acq_rel) != 1) return;
    // The last one, so wait() waits, and the group exists until this completes.
    end_->complete(1);
}

void task_group::failed() noexcept {
    {
        const std::lock_guard guard(lock_);
        try {
            caught_.push_back(std::current_exception());
        } catch (...) { // no memory for more than the first one
        }
    }
    if (then_ == on_error::cancel_rest) cancel();
}

bool task_group::wait_for_all() noexcept {
    end all_ended(born_);
    end_ = &all_ended;
    const bool has_ended = pending_.fetch_sub(1, sys::acq_rel) == 1 || all_ended.wait(); // [T1]
    pending_.store(1, sys::relaxed);
    return has_ended;
}

void task_group::wait() {
    if (!wait_for_all()) throw_left_behind();
    thrown_.clear();
    thrown_.swap(caught_);
    const bool was_cancelled = is_cancelled();
    if (was_cancelled) stop_ = std::stop_source();
    if (dropped_.exchange(0, sys::relaxed) != 0 && !was_cancelled) {
        thrown_.push_back(
            std::make_exception_ptr(std::system_error(std::make_error_code(std::errc::operation_canceled),
                                                      "ekiden: task_group: the pool was stopped")));
    }
    if (!thrown_.empty()) std::rethrow_exception(thrown_.front());
}

} // namespace ekiden::inline EKIDEN_ABI
