#include <ekiden/fork/detail/parallel_loop.hpp>

#include <ekiden/future/operation_canceled.hpp>

#include <mutex>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI::detail {

loop_run::loop_run(const loop_options& options, std::size_t total) : options_(options), total_(total) {
    if (options.stop.stop_possible()) on_stop_.emplace(options.stop, ender{this});
}

void loop_run::report(std::size_t count) {
    const std::size_t before = done_.fetch_add(count, sys::relaxed);
    const std::size_t now = before + count;
    const std::size_t hundredth = std::max<std::size_t>(total_ / 100, 1);
    if (before / hundredth == now / hundredth && now != total_) return;
    const std::lock_guard guard(reporting_);
    // Another thread may already have reported a higher number.
    if (now <= reported_) return;
    reported_ = now;
    options_.progress(now, total_);
}

void throw_negative_bound(const char* algorithm, const char* bound, std::intmax_t value) {
    throw std::invalid_argument("ekiden: " + std::string(algorithm) + ": " + bound + " is "
                                + std::to_string(value)
                                + "; allowed beside an unsigned bound are 0 and more");
}

void throw_stopped(const char* algorithm) {
    throw operation_canceled((std::string(algorithm) + ": stopped before the end").c_str());
}

} // namespace ekiden::inline EKIDEN_ABI::detail
