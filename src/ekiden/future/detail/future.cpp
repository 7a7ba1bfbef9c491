#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/future/promise.hpp>

#include <future>
#include <system_error>

namespace ekiden::inline EKIDEN_ABI {

void throw_operation_canceled() { throw operation_canceled("the task did not run"); }

void throw_left_behind() {
    throw std::system_error(
        std::make_error_code(std::errc::operation_not_permitted),
        "ekiden: the task was queued or ran when this process was forked; it does not end here");
}

std::exception_ptr left_behind_error() noexcept {
    try {
        throw_left_behind();
    } catch (...) {
        return std::current_exception();
    }
}

void throw_broken_promise() { throw std::future_error(std::future_errc::broken_promise); }

void throw_no_state() { throw std::future_error(std::future_errc::no_state); }

void throw_promise_already_satisfied() {
    throw std::future_error(std::future_errc::promise_already_satisfied);
}

void throw_future_already_retrieved() { throw std::future_error(std::future_errc::future_already_retrieved); }

} // namespace ekiden::inline EKIDEN_ABI
