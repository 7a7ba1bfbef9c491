/// What a piece of a workload reports as wrong.
///
/// Used by: the tests of what workloads count with.
#pragma once

#include <lab/harness/cell.hpp>

#include <array>
#include <doctest/doctest.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace lab {

/// What a cell in a process of its own reports while `body` runs in it: "" if nothing.
inline std::string failure_of(const std::function<void(const cell&)>& body) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        const cell c(settings{}, ends[1]);
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

} // namespace lab
