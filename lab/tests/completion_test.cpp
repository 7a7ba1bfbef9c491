#include <lab/harness/completion.hpp>
#include <lab/tests/failure_of.hpp>

#include <doctest/doctest.h>
#include <thread>
#include <vector>

using lab::failure_of;

TEST_CASE("waiting ends when the expected hits have come from several threads") {
    const std::string failure = failure_of([](const lab::cell& c) {
        lab::completion done;
        done.expect(4'000);
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 1'000; ++i) done.hit();
            });
        done.wait(c);
        for (std::thread& t : threads) t.join();
        done.check(c);
    });
    CHECK(failure.empty());
}

TEST_CASE("a hit that never comes fails the cell instead of waiting for ever") {
    const std::string failure = failure_of([](const lab::cell& c) {
        lab::completion done;
        done.expect(3);
        done.hit();
        done.hit();
        done.wait(c);
    });
    CHECK(failure == "lost tasks: 2 of 3 ran");
}

TEST_CASE("a hit too many fails the cell") {
    const std::string failure = failure_of([](const lab::cell& c) {
        lab::completion done;
        done.expect(1);
        done.hit();
        done.wait(c);
        done.hit();
        done.check(c);
    });
    CHECK(failure == "2 tasks ran where 1 were submitted");
}

TEST_CASE("a lost and a doubled task do not cancel out") {
    const std::string failure = failure_of([](const lab::cell& c) {
        lab::attendance present(3);
        present.mark(0);
        present.mark(0);
        present.mark(1);
        present.check(c);
    });
    CHECK(failure == "task 0 of 3 ran 2 times");
}
