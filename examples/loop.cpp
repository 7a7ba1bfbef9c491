// An event loop: the thread that calls run() is the one that works.
#include <ekiden/loop.hpp>

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

int main() {
    // One thread runs it, any thread may post: nothing in it needs a lock.
    ekiden::loop_context loop(1);
    const auto executor = loop.get_executor();
    std::string text;
    executor.post([&] {
        text += "first ";
        executor.post([&] { text += "third "; });       // later, behind what waits
        executor.dispatch([&] { text += "at once "; }); // now: this thread is inside
    });
    executor.post([&] { text += "second "; });
    const std::size_t ran = loop.run(); // 3: what dispatch ran was no task of its own
    std::printf("%zu tasks: %s\n", ran, text.c_str());

    // Without work run() returns, and the context has stopped. Outstanding work keeps it: here a thread.
    loop.restart();
    executor.on_work_started();
    std::thread elsewhere([&] {
        executor.post([] { std::puts("from another thread"); });
        executor.on_work_finished();
    });
    loop.run();
    elsewhere.join();

    // What a task throws leaves run(). The context goes on in the next one.
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

    // A loop for each of two threads: what belongs to a key stays on one of them.
    ekiden::loop_pool pool({.threads = 2, .name = "part"});
    int deposits = 0;
    for (int i = 0; i != 10; ++i) pool.get_executor_for(std::string("account 7")).post([&] { ++deposits; });
    pool.join();
    std::printf("%d deposits\n", deposits);
    return text == "first at once second third " && deposits == 10 ? 0 : 1;
}
