/// Runs code in a child process on Windows, which has no fork(). Only child_process.hpp includes this header.
///
/// The child is this program again, with the same test case. There, the call with the same number runs the
/// code and ends the process. Earlier calls return an empty result. So a test case must reach its calls in
/// the same order in each process.
#pragma once

#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>

namespace ekiden_test {

struct child_result {
    int exit_code = -1; ///< if it has exited
    int signal = 0;     ///< if it has called abort()
    std::string error_output;
};

namespace child_detail {

/// Starts this program with the test case, collects its standard error, and waits for its end.
child_result spawn(const std::string& test_case, const std::string& environment);

/// Returns how many calls of run_in_child() the test case has begun.
inline int next_call(const char* test_case) {
    static const char* last_case = nullptr;
    static int calls = 0;
    if (last_case != test_case) calls = 0;
    last_case = test_case;
    return ++calls;
}

} // namespace child_detail

/// Calls `body` in a child, which then exits with 0, or with the status that `body` passes to std::exit.
template <class F>
child_result run_in_child(F&& body) {
    const char* const test_case = doctest::getContextOptions()->currentTest->m_name;
    const int call = child_detail::next_call(test_case);
    if (const char* const wanted = std::getenv("EKIDEN_TEST_CHILD"); wanted != nullptr) {
        if (std::atoi(wanted) != call) return {};
        for (const int s : {SIGABRT, SIGSEGV}) std::signal(s, SIG_DFL);
        body();
        std::exit(0);
    }
    return child_detail::spawn(test_case, "EKIDEN_TEST_CHILD=" + std::to_string(call));
}

inline bool can_child_start_threads() { return true; }

} // namespace ekiden_test
