// Acquires two locks in both orders, one after the other, so that nothing hangs. ThreadSanitizer knows the
// locks and must report that the two orders may deadlock.
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/spin_mutex.hpp>

#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <string_view>

namespace {

template <template <class> class Second = std::lock_guard, class Mutex>
void both(Mutex& first, Mutex& second) {
    const std::lock_guard outer(first);
    const Second<Mutex> inner(second);
}

template <class Mutex>
void in_both_orders() {
    Mutex a;
    Mutex b;
    both(a, b);
    both(b, a);
}

} // namespace

int main(int count, char** arguments) {
    const std::string_view which = count == 2 ? arguments[1] : "";
    if (which == "mutex") {
        in_both_orders<ekiden::mutex>();
    } else if (which == "fifo_mutex") {
        in_both_orders<ekiden::fifo_mutex>();
    } else if (which == "hybrid_mutex") {
        in_both_orders<ekiden::hybrid_mutex>();
    } else if (which == "spin_mutex") {
        in_both_orders<ekiden::spin_mutex>();
    } else if (which == "rw_mutex") {
        in_both_orders<ekiden::rw_mutex<>>();
    } else if (which == "shared_and_alone") {
        ekiden::rw_mutex<> a;
        ekiden::rw_mutex<> b;
        both<std::shared_lock>(a, b);
        both(b, a);
    } else if (which == "none") {
        ekiden::mutex a;
        ekiden::mutex b;
        both(a, b);
        both(a, b);
        ekiden::rw_mutex<> c;
        c.lock();
        c.downgrade();
        (void)c.upgrade();
        c.unlock();
    } else {
        std::fprintf(stderr, "usage: annotated_lock_order mutex|...|none\n");
        return 2;
    }
    return 0;
}
