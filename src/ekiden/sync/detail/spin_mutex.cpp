#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sys/back_off.hpp>

namespace ekiden::inline EKIDEN_ABI {

void spin_mutex::lock_slow() noexcept {
    sys::back_off holder;
    do holder.wait();
    while (!take_now());
}

} // namespace ekiden::inline EKIDEN_ABI
