// An event loop. The thread that calls run() runs the tasks.
#include <ekiden/loop.hpp>

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

int main() {
    // One thread runs it, and any thread may post. So its tasks need no lock.
    ekiden::loop_context loop(1);
    const auto executor = loop.get_executor();
    std::string text;
    executor.post([&] {
        text += "first ";
        executor.post([&] { text += "third "; });       // later, after all queued tasks
        executor.dispatch([&] { text += "at once "; }); // now, because this thread is inside the loop
    });
    executor.post([&] { text += "second "; });
    const std::size_t ran = loop.run(); // 3, because the dispatched function was not a separate task
    std::printf("%zu tasks: %s\n", ran, text.c_str());

    // Without work, run() returns and the context is stopped. Outstanding work keeps it running, here a
    // thread.
    loop.restart();
    executor.on_work_started();
    std::thread elsewhere([&] {
        executor.post([] { std::puts("from another thread"); });
        executor.on_work_finished();
    });
    loop.run();
    elsewhere.join();

    // An exception of a task leaves run(). The next run() continues.
    loop.restart();
    executor.post([] { throw std::runtime_error("a bad request"); });
    executor.post([] { std::puts("the next request"); });
    for (;;) {
        try {
            loop.run();
            break;
        } catch (const std::exception& error) {
            std::printf("caught: %s\n", error.what());
        }
    }

    // One loop for each of two threads. All tasks of a key run on the same thread.
    ekiden::loop_pool pool({.threads = 2, .name = "part"});
    int deposits = 0;
    for (int i = 0; i != 10; ++i) pool.get_executor_for(std::string("account 7")).post([&] { ++deposits; });
    pool.join();
    std::printf("%d deposits\n", deposits);
    return text == "first at once second third " && deposits == 10 ? 0 : 1;
}
