/// A task without a future throws. The pool's handler gets the exception, and the worker continues.
#include <ekiden/pool.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

int main() {
    std::string heard; // only the single worker writes to it

    const auto handler = [&heard](std::exception_ptr thrown, std::string_view type_of_task) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::exception& error) {
            heard = error.what();
            std::cout << "thrown by a task of type " << type_of_task << '\n';
        }
    };
    ekiden::thread_pool pool({.threads = 1, .on_unhandled_exception = handler});
    pool.post([] { throw std::runtime_error("out of paper"); });
    pool.post([] { std::cout << "the worker lives on\n"; });
    pool.wait_idle();

    std::cout << "the handler heard: " << heard << '\n';
    return heard == "out of paper" ? 0 : 1;
}
