#include <lab/harness/completion.hpp>

#include <array>
#include <doctest/doctest.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

// What a cell in a process of its own reports while `body` runs in it: "" if nothing.
std::string failure_of(const std::function<void(const lab::cell&)>& body) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        const lab::cell c(lab::settings{}, ends[1]);
        body(c);
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t n; (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(n));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return text.empty() ? text : nlohmann::json::parse(text)["failed"].get<std::string>();
}

} // namespace

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
