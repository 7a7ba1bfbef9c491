#include <ekiden/async/sync_wait.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

void refuse_wait_in_serial_scope() {
    if (thread_record::here().serial == nullptr) return;
    throw std::system_error(
        std::make_error_code(std::errc::resource_deadlock_would_occur),
        "ekiden: sync_wait: called in a function of a strand or a lane, which runs nothing else until that "
        "returns; allowed is co_await, or sync_wait outside of strands and lanes");
}

} // namespace ekiden::inline EKIDEN_ABI::detail
