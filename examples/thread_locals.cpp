/// A thread_local variable may have another value after an await, and after a wait of a task.
#include <ekiden/async.hpp>
#include <ekiden/execution.hpp>
#include <ekiden/pool.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

namespace {

thread_local std::string current_user = "nobody";

[[gnu::noinline]] std::string& user_of_this_thread() { return current_user; }

using executor = ekiden::thread_pool::executor_type;

/// The coroutine continues in another thread, which has another variable.
ekiden::coroutine<std::string> user_after_a_hop(executor other) {
    user_of_this_thread() = "ada";
    co_await ekiden::resume_on(other);
    co_return user_of_this_thread();
}

/// A parameter lives in the frame of the coroutine, which moves with it.
ekiden::coroutine<std::string> user_as_parameter(executor other, std::string user) {
    co_await ekiden::resume_on(other);
    co_return user;
}

/// A worker that waits for a result runs other tasks, which change the variable of the thread.
std::string user_after_a_wait() {
    ekiden::thread_pool pool(1);
    return pool
        .submit([&pool] {
            user_of_this_thread() = "ada";
            pool.submit([] { user_of_this_thread() = "bob"; }).get();
            return user_of_this_thread();
        })
        .get();
}

} // namespace

int main() {
    ekiden::thread_pool here(1);
    ekiden::thread_pool other(1);
    const auto run = [&](auto start) {
        return ekiden::co_spawn(here.get_executor(), std::move(start), ekiden::use_future).get();
    };
    const std::string hop = run([&] { return user_after_a_hop(other.get_executor()); });
    const std::string parameter = run([&] { return user_as_parameter(other.get_executor(), "ada"); });
    const std::string wait = user_after_a_wait();
    std::cout << "after a hop: " << hop << "; as a parameter: " << parameter << "; after a wait: " << wait
              << '\n';
    return hop == "nobody" && parameter == "ada" && wait == "bob" ? EXIT_SUCCESS : EXIT_FAILURE;
}
