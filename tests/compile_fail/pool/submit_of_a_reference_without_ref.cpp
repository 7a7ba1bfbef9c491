// expect: ekiden: submit: the callable cannot be called with these arguments.*std::ref passes a reference
#include <ekiden/pool/thread_pool.hpp>

void f(ekiden::thread_pool& pool) {
    int n = 0;
    (void)pool.submit([](int& to) { ++to; }, n);
}
