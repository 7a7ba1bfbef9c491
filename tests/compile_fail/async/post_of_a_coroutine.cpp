// expect: ekiden: post: the callable returns a coroutine
#include <ekiden/async/coroutine.hpp>
#include <ekiden/pool/thread_pool.hpp>

ekiden::coroutine<> steps();

void wrong(ekiden::thread_pool& pool) { pool.post(steps); }
