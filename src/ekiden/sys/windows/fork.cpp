#include <ekiden/sys/fork.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

// Windows has no fork().
bool at_fork(void (*)(), void (*)(), void (*)()) noexcept { return false; }

std::uint16_t fork_generation_here = 0;

} // namespace ekiden::inline EKIDEN_ABI::sys
