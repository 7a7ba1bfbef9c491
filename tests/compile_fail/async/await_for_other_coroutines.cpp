// expect: ekiden: co_await: only coroutines of another library can await this
#include <ekiden/async/coroutine.hpp>

#include <coroutine>

struct others_promise;

struct others_awaiter {
    bool await_ready();
    void await_suspend(std::coroutine_handle<others_promise>);
    void await_resume();
};

ekiden::coroutine<> wrong() { co_await others_awaiter(); }
