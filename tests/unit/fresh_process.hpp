/// Runs a test case of this executable in a new process, from its first instruction on.
#pragma once

#include <tests/unit/child_process.hpp>

#if defined(__APPLE__)
#include <cstdint>
#include <mach-o/dyld.h>
#include <string>
#include <unistd.h>
#elif !defined(_WIN32)
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ekiden_test {

#if defined(_WIN32)
/// Runs the test case `name` in a new process.
inline child_result run_test_case_in_fresh_process(const char* name) {
    return child_detail::spawn(name, "EKIDEN_TEST_FRESH=1");
}
#else

/// Runs the test case `name` in a new process. `name` may match several, as for --test-case, and they may be
/// decorated with doctest::skip(). `prepare()` is called in the new process before it executes this program.
template <class F>
child_result run_test_case_in_fresh_process(const char* name, F&& prepare) {
    return run_in_child([&] {
        prepare();
        std::string filter("--test-case=");
        filter += name; // not operator+, for which g++ 12 gives a false warning
#if defined(EKIDEN_TEST_EMULATOR) // the system cannot start a program for another processor
        char self[4096] = {};
        (void)!::readlink("/proc/self/exe", self, sizeof self - 1);
        ::execl("/bin/sh", "sh", "-c", "exec " EKIDEN_TEST_EMULATOR " \"$0\" \"$@\"", self, filter.c_str(),
                "--no-skip=true", nullptr);
#elif defined(__APPLE__)
        char self[4096] = {};
        std::uint32_t size = sizeof self;
        if (::_NSGetExecutablePath(self, &size) == 0)
            ::execl(self, "fresh", filter.c_str(), "--no-skip=true", nullptr);
#else
        ::execl("/proc/self/exe", "fresh", filter.c_str(), "--no-skip=true", nullptr);
#endif
        std::_Exit(127);
    });
}

inline child_result run_test_case_in_fresh_process(const char* name) {
    return run_test_case_in_fresh_process(name, [] {});
}

#if !defined(__APPLE__)
/// From now on, the system call `number` fails with `error` in this process and in the processes that it
/// starts. Returns false if the system does not allow this.
inline bool forbid_system_call(unsigned number, unsigned error) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{std::size(program), program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
           && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}
#endif
#endif

} // namespace ekiden_test
