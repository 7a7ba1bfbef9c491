#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

namespace ekiden::inline EKIDEN_ABI {

void spin_mutex::lock_slow() noexcept {
    // Pauses double up to `most`, which is a little more than a section should last. A holder that has not
    // left by then is most likely not running, perhaps because this thread has its processor: it is given the
    // time.
    constexpr unsigned most = 64;
    for (unsigned pauses = 1;;) {
        if (pauses <= most) {
            for (unsigned i = 0; i < pauses; ++i) sys::spin_hint();
            pauses *= 2;
        } else {
            sys::yield();
        }
        if (take_now()) return;
    }
}

} // namespace ekiden::inline EKIDEN_ABI
