// expect: ekiden: submit: with a stop_token, the callable takes that or nothing
#include <ekiden/pool/thread_pool.hpp>

void f(ekiden::thread_pool& pool) {
    (void)pool.submit(std::stop_token(), [](int) {});
}
