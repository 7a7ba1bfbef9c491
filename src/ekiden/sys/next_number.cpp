#include <ekiden/sys/next_number.hpp>

#include <atomic>

namespace ekiden::inline EKIDEN_ABI::sys {

std::uint64_t next_number() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
