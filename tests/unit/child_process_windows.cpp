#include <tests/unit/child_process_windows.hpp>

#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <io.h>
#include <process.h>

namespace ekiden_test::child_detail {
namespace {

/// If a test hangs and is ended, its output must have arrived. The C library would keep it in a buffer.
[[maybe_unused]] const int is_unbuffered = std::setvbuf(stdout, nullptr, _IONBF, 0);

} // namespace

child_result spawn(const std::string& test_case, const std::string& environment) {
    int ends[2];
    if (::_pipe(ends, 1 << 16, _O_BINARY | _O_NOINHERIT) != 0) std::abort();
    std::fflush(nullptr);
    const int own_error = ::_dup(2);
    ::_dup2(ends[1], 2); // the child inherits it
    ::_putenv(environment.c_str());
    std::string name = "--test-case=";
    for (const char c : test_case) (c == ',' ? name += '\\' : name) += c;
    const std::string quoted = '"' + name + '"';
    const std::intptr_t child =
        ::_spawnl(_P_NOWAIT, _pgmptr, "child", quoted.c_str(), "--no-skip=true", "--out=nul", nullptr);
    ::_putenv((environment.substr(0, environment.find('=')) + '=').c_str()); // removes it
    ::_dup2(own_error, 2);
    ::_close(own_error);
    ::_close(ends[1]);
    if (child == -1) std::abort();
    child_result result;
    char buffer[4096];
    for (int n; (n = ::_read(ends[0], buffer, sizeof buffer)) > 0;) {
        for (int i = 0; i != n; ++i) {
            if (buffer[i] != '\r') result.error_output += buffer[i];
        }
    }
    ::_close(ends[0]);
    int status = 0;
    ::_cwait(&status, child, 0);
    constexpr int aborted = 3; // the status of abort()
    if (status == aborted)
        result.signal = SIGABRT;
    else
        result.exit_code = status;
    return result;
}

} // namespace ekiden_test::child_detail
