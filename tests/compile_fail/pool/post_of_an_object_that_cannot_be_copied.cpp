// expect: ekiden: post keeps a copy of the callable
#include <ekiden/pool/thread_pool.hpp>

#include <memory>

void wrong(ekiden::thread_pool& pool) {
    auto task = [kept = std::make_unique<int>(1)] {};
    pool.post(task);
}
