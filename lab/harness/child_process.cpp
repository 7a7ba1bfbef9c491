#include <lab/harness/child_process.hpp>

namespace lab {

std::string describe(const child_outcome& outcome, double limit_s) {
    std::string last = outcome.diagnostics;
    while (!last.empty() && last.back() == '\n') last.pop_back();
    if (const auto newline = last.rfind('\n'); newline != std::string::npos) last.erase(0, newline + 1);
    std::string text;
    switch (outcome.how) {
    case child_outcome::ending::exited:
        text = "ended with status " + std::to_string(outcome.code);
        break;
    case child_outcome::ending::signalled:
        text = "crashed: " + name_of_crash(outcome.code);
        break;
    case child_outcome::ending::timed_out:
        text = "hung: stopped after " + std::to_string(static_cast<int>(limit_s)) + " s";
        break;
    case child_outcome::ending::interrupted:
        text = "interrupted";
        break;
    case child_outcome::ending::not_started:
        text = "could not be started: " + name_of_start_error(outcome.code);
        break;
    }
    return last.empty() ? text : text + " (" + last + ")";
}

} // namespace lab
