// expect: ekiden: then: the first argument is no executor
#include <ekiden/execution/then.hpp>
#include <ekiden/pool/thread_pool.hpp>

int main() {
    ekiden::thread_pool pool(1);
    pool.submit([] { return 1; }).then(pool, [](int) {});
}
