// future::then(), future::share() and waits with limits need only the header of futures and that of an
// executor.
#include <ekiden/future/future.hpp>
#include <ekiden/pool/thread_pool.hpp>

static_assert(EKIDEN_VERSION >= 200 && EKIDEN_FUTURES >= 202611L && EKIDEN_LANES >= 202611L);

int continued(ekiden::thread_pool& pool, ekiden::future<int> number) {
    ekiden::shared_future<int> shared = number.then(pool.get_executor(), [](int n) { return n + 1; }).share();
    return shared.wait(ekiden::wait_limit::after(std::chrono::seconds(1))) ? shared.get() : 0;
}
