#include <ekiden/sys/call_stack.hpp>

#if __has_include(<execinfo.h>)
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <execinfo.h>
#include <mutex>
#include <new>
#if defined(__APPLE__)
#include <pthread.h>
#else
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

#if __has_include(<execinfo.h>)
namespace {

constexpr std::size_t most_frames = 32;

std::string named(void* const* frames, int count, const char* indent) {
    char** const names = ::backtrace_symbols(frames, count);
    if (names == nullptr) return {};
    std::string text;
    for (int i = 0; i < count; ++i) ((text += indent) += names[i]) += '\n';
    std::free(static_cast<void*>(names)); // NOLINT: the system allocated the memory with malloc
    return text;
}

// The two systems name a thread to the handler, and send a signal to a thread, in different ways.
#if defined(__APPLE__)
std::uint64_t number_of_this_thread() noexcept { return ::pthread_mach_thread_np(::pthread_self()); }

bool send(int signal, const thread_probe& whose) noexcept {
    const pthread_t thread = ::pthread_from_mach_thread_np(static_cast<mach_port_t>(whose.system_id()));
    return thread != nullptr && ::pthread_kill(thread, signal) == 0;
}
#else
std::uint64_t number_of_this_thread() noexcept { return system_thread_id(); }

bool send(int signal, const thread_probe& whose) noexcept {
    return ::syscall(SYS_tgkill, ::getpid(), whose.system_id(), signal) == 0;
}
#endif

/// The only request for the call stack of another thread. A thread that asks holds the lock. The state
/// changes from idle to asked, then in the signal handler to answering and answered, and back to idle.
struct stack_request {
    enum : std::uint32_t { idle, asked, answering, answered };

    slow_lock asking;
    atomic<std::uint32_t> state{idle};
    atomic<std::uint64_t> thread{0}; // the thread that must answer
    std::array<void*, most_frames> frames{};
    int count = 0;
};
constinit stack_request wanted;

/// In the child of a fork(), the thread that asks does not exist.
[[maybe_unused]] const bool is_request_made_anew =
    at_fork(nullptr, nullptr, [] { ::new (&wanted) stack_request; });

/// The handler of the signal, in the thread whose call stack is read.
void answer(int /*signal*/) {
    const int before = errno;
    std::uint32_t expected = stack_request::asked;
    // Acquire: sees the number of the thread that must answer. Pairs with the release in call_stack_of().
    if (wanted.state.load(acquire) == expected && wanted.thread.load(relaxed) == number_of_this_thread()
        && wanted.state.compare_exchange_strong(expected, stack_request::answering, relaxed, relaxed)) {
        wanted.count = ::backtrace(wanted.frames.data(), static_cast<int>(most_frames));
        wanted.state.store(stack_request::answered, release); // publishes the frames
        futex_wake(wanted.state);
    }
    errno = before;
}

/// Waits for the answer of the other thread. Returns false if there is none.
bool is_answered() noexcept {
    const auto end = clock::now() + std::chrono::milliseconds(100);
    for (;;) {
        std::uint32_t now = wanted.state.load(acquire); // sees the frames
        if (now == stack_request::answered) return true;
        // The handler answers soon after it has begun.
        if (futex_wait_until(wanted.state, now, end) || now == stack_request::answering) continue;
        if (wanted.state.compare_exchange_strong(now, stack_request::idle, relaxed, relaxed)) return false;
    }
}

} // namespace

std::string call_stack(const char* indent) {
    std::array<void*, 24> frames{};
    const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    return named(frames.data() + 1, count - 1, indent);
}

bool accept_stack_signal(int signal) noexcept {
#if defined(EKIDEN_FUTEX_TABLE)
    if (signal != 0) return false; // the handler could not call futex_wake()
#endif
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0) return false;
    if (now.sa_handler == &answer) return true;
    if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) return false;
    std::array<void*, 2> frames{};
    (void)::backtrace(frames.data(), 2); // the first call loads a library, which a signal handler must not do
    now = {};
    now.sa_handler = &answer;
    now.sa_flags = SA_RESTART;
    return ::sigaction(signal, &now, nullptr) == 0;
}

std::string call_stack_of(const thread_probe& whose, int signal, const char* indent) {
    if (!whose.refers_to_thread()) return {};
    const std::lock_guard guard(wanted.asking);
    wanted.thread.store(static_cast<std::uint64_t>(whose.system_id()), relaxed);
    wanted.state.store(stack_request::asked, release); // publishes the number of the thread
    if (!send(signal, whose) || !is_answered()) {
        wanted.state.store(stack_request::idle, relaxed);
        return {};
    }
    // The first frames are the handler and the code that calls it.
    constexpr int skipped = 2;
    std::string text =
        wanted.count > skipped ? named(wanted.frames.data() + skipped, wanted.count - skipped, indent) : "";
    wanted.state.store(stack_request::idle, relaxed);
    return text;
}
#else
std::string call_stack(const char*) { return {}; }
bool accept_stack_signal(int) noexcept { return true; }
std::string call_stack_of(const thread_probe&, int, const char*) { return {}; }
#endif

} // namespace ekiden::inline EKIDEN_ABI::sys
