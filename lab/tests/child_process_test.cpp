#include <lab/harness/child_process.hpp>
#include <lab/harness/usage.hpp>

#include <csignal>
#include <doctest/doctest.h>

using lab::child_outcome;
using lab::run_child;

namespace {

child_outcome shell(const char* script, double limit_s = 20) {
    return run_child("/bin/sh", {"-c", script}, limit_s);
}

} // namespace

TEST_CASE("a child's reports and diagnostics are kept apart") {
    const child_outcome o = shell("echo report >&3; echo said; echo complained >&2; exit 7");
    CHECK(o.how == child_outcome::ending::exited);
    CHECK(o.code == 7);
    CHECK(o.reports == "report\n");
    CHECK(o.diagnostics == "said\ncomplained\n");
}

TEST_CASE("a child that reports more than a pipe holds is read to the end") {
    const child_outcome o = shell("head -c 1000000 /dev/zero >&3");
    CHECK(o.code == 0);
    CHECK(o.reports.size() == 1'000'000);
}

TEST_CASE("a crash is told by its signal and the last line that the child wrote") {
    const child_outcome o = shell("echo first >&2; echo last words >&2; kill -SEGV $$");
    CHECK(o.how == child_outcome::ending::signalled);
    CHECK(o.code == SIGSEGV);
    CHECK(lab::describe(o, 20) == "crashed: Segmentation fault (last words)");
}

TEST_CASE("a child that hangs is stopped, with what it started") {
    const double begin = lab::usage_now().wall_s;
    const child_outcome o = shell("sleep 600 & sleep 600", 1);
    CHECK(o.how == child_outcome::ending::timed_out);
    CHECK(lab::usage_now().wall_s - begin < 300);
    CHECK(lab::describe(o, 1) == "hung: stopped after 1 s");
}

TEST_CASE("a program that does not exist is reported") {
    const child_outcome o = run_child("/no/such/program", {}, 20);
    CHECK(o.code == 127);
    CHECK(o.diagnostics.find("/no/such/program") != std::string::npos);
}
