// expect: ekiden: post: the callable must be callable without arguments
#include <ekiden/pool/thread_pool.hpp>

void f(ekiden::thread_pool& pool) {
    pool.post([](int) {});
}
