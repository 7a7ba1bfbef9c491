#include <ekiden/pool/blocking_region.hpp>

#include <ekiden/pool/scheduler.hpp>
#include <ekiden/pool/worker.hpp>

namespace ekiden::inline EKIDEN_ABI {

namespace {

/// The worker that enters its first region here, or null.
worker* enters(worker* here) noexcept { return here != nullptr && here->enter_region() ? here : nullptr; }

} // namespace

blocking_region::blocking_region(const char* what) noexcept : worker_(enters(scheduler::current_worker())) {
    if (worker_ != nullptr) worker_->pool().threads().block(*worker_, what);
}

blocking_region::~blocking_region() {
    if (worker_ == nullptr) return;
    worker_->pool().threads().unblock(*worker_);
    worker_->leave_region();
}

} // namespace ekiden::inline EKIDEN_ABI
