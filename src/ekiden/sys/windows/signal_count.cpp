#include <ekiden/sys/signal_count.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

// Windows sends no signals that a program could count.
const atomic<std::uint32_t>* count_signals(int) noexcept { return nullptr; }
void wake_for_signal(int) noexcept {}

} // namespace ekiden::inline EKIDEN_ABI::sys
