// How pools end with a process and with a DLL: ends CASE. The status is 0, or the case ends by a message.
#include <ekiden/pool/thread_pool.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <windows.h>

#include "library.hpp"

namespace {

/// The loaded DLL.
class library {
public:
    library() : handle_(::LoadLibraryA("ends_library.dll")) {
        if (handle_ == nullptr) fail("the DLL cannot be loaded");
    }
    template <class Function>
    [[nodiscard]] Function* get(const char* name) const {
        return reinterpret_cast<Function*>(reinterpret_cast<void*>(::GetProcAddress(handle_, name)));
    }
    /// Checks that the threads of the pools run tasks.
    void use() const {
        if (get<int()>("use_pools")() != 11) fail("the pools have not run all tasks");
    }
    void unload() const {
        if (::FreeLibrary(handle_) == 0) fail("FreeLibrary() has failed");
    }
    [[nodiscard]] static bool is_loaded() { return ::GetModuleHandleA("ends_library.dll") != nullptr; }

    [[noreturn]] static void fail(const char* why) {
        say(why);
        say("\n");
        ::TerminateProcess(::GetCurrentProcess(), 1);
        for (;;) {
        }
    }

private:
    HMODULE handle_;
};

void check(bool holds, const char* what) {
    if (!holds) library::fail(what);
}

struct counts_at_exit {
    std::atomic<int> ran{0};
    ~counts_at_exit() {
        if (ran == 100) say("all 100 tasks have run\n");
    }
};

int static_pool() {
    static counts_at_exit counts; // is destroyed after the pool
    static ekiden::thread_pool pool({.threads = 2});
    for (int i = 0; i != 100; ++i) pool.post([] { ++counts.ran; });
    return 0;
}

[[noreturn]] void exit_with_five() {
    say("status 5 follows\n");
    ::ExitProcess(5);
}

/// The process is its own parent, which checks the status.
int status_of(const char* what) {
    std::string program(MAX_PATH, '\0');
    program.resize(::GetModuleFileNameA(nullptr, program.data(), static_cast<DWORD>(program.size())));
    std::string command = '"' + program + "\" " + what;
    STARTUPINFOA start{};
    start.cb = sizeof start;
    PROCESS_INFORMATION child{};
    check(
        ::CreateProcessA(nullptr, command.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &start, &child)
            != 0,
        "the child cannot be started");
    check(::WaitForSingleObject(child.hProcess, 50'000) == WAIT_OBJECT_0, "the child hangs");
    DWORD status = 0;
    check(::GetExitCodeProcess(child.hProcess, &status) != 0, "the child has no status");
    say(("status " + std::to_string(status) + '\n').c_str());
    return 0;
}

int exit_in_own_task() {
    ekiden::thread_pool pool({.threads = 2});
    pool.post([] { exit_with_five(); });
    for (;;) ::Sleep(1000);
}

int exit_in_task_of_library() {
    const library dll;
    dll.use();
    dll.get<void(void (*)())>("post_to_pools")([] { exit_with_five(); });
    for (;;) ::Sleep(1000);
}

int unload() {
    for (int i = 0; i != 20; ++i) {
        const library dll;
        dll.use();
        dll.get<void()>("end_pools")();
        dll.unload();
        check(!library::is_loaded(), "the DLL is still loaded");
    }
    return 0;
}

int unload_idle() {
    const library dll;
    dll.use();
    dll.unload();
    check(library::is_loaded(), "the DLL is gone, although its threads exist");
    ::Sleep(50);
    dll.use(); // the code is still there
    return 0;
}

std::unique_ptr<ekiden::thread_pool> destroyed_by_library;

int join_under_lock() {
    destroyed_by_library = std::make_unique<ekiden::thread_pool>(ekiden::thread_pool_options{.threads = 1});
    const library dll;
    dll.get<void(void (*)())>("call_at_end")([] { destroyed_by_library.reset(); });
    dll.unload();
    return 0;
}

int run(const std::string& name) {
    if (name == "static_pool") return static_pool();
    if (name == "exit_in_task") return status_of("exit_in_own_task");
    if (name == "exit_in_own_task") return exit_in_own_task();
    if (name == "library_exit_in_task") return status_of("exit_in_task_of_library");
    if (name == "exit_in_task_of_library") return exit_in_task_of_library();
    if (name == "unload") return unload();
    if (name == "unload_idle") return unload_idle();
    if (name == "join_under_lock") return join_under_lock();
    const library dll;
    dll.use();
    if (name == "wait_at_exit") dll.get<void()>("wait_at_end")();
    check(name == "library" || name == "wait_at_exit", "there is no such case");
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    check(count == 2, "usage: ends CASE");
    return run(arguments[1]);
}
