#include "locks.hpp"

namespace static_locks {

ekiden::mutex mutex;
ekiden::fifo_mutex fifo_mutex;
ekiden::hybrid_mutex hybrid_mutex;
ekiden::spin_mutex spin_mutex;
ekiden::rw_mutex<> rw_mutex;
ekiden::latch latch(2);
ekiden::event event;
ekiden::counting_semaphore<> semaphore(1);
ekiden::barrier<> barrier(2);

} // namespace static_locks
