#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>
#include <windows.h>

#if defined(__GNUC__) && !defined(__clang__)
// g++ keeps thread_local objects in memory that it frees with a key of winpthreads when the thread ends. The
// actions use such objects. So the actions have a key that is older, whose destructor runs first.
#define EKIDEN_HAS_EMULATED_TLS 1
#include <pthread.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

struct exit_actions {
    std::vector<std::pair<void (*)(void*), void*>> list;
    DWORD thread = ::GetCurrentThreadId();
};

/// A pointer of each thread that stays readable until the thread has ended, unlike a thread_local object.
class thread_pointer {
public:
    thread_pointer() noexcept : slot_(::TlsAlloc()) {
        expects(slot_ != TLS_OUT_OF_INDEXES, "the system refuses a slot for data of threads");
    }
    ~thread_pointer() = default;
    thread_pointer(const thread_pointer&) = delete;
    thread_pointer& operator=(const thread_pointer&) = delete;
    [[nodiscard]] void* get() const noexcept { return ::TlsGetValue(slot_); }
    void set(void* to) const noexcept { (void)::TlsSetValue(slot_, to); }

private:
    DWORD slot_;
};

/// Points to the actions of the thread, or to `has_run` after the actions have run.
const thread_pointer& own_actions() noexcept {
    static const thread_pointer slot; // is never destroyed, because it needs no destructor
    return slot;
}
constinit char has_run = 0;

#if defined(EKIDEN_HAS_EMULATED_TLS)
#define EKIDEN_EXIT_CALL
#else
#define EKIDEN_EXIT_CALL WINAPI
#endif

/// Runs the actions of the calling thread. If a DLL is unloaded, the system may pass the actions of another
/// thread. These actions do not run, because they need their own thread.
void EKIDEN_EXIT_CALL run(void* argument) {
    auto* const all = static_cast<exit_actions*>(argument);
    if (all == nullptr) return;
    if (all->thread == ::GetCurrentThreadId()) {
        while (!all->list.empty()) {
            const auto [action, its_argument] = all->list.back();
            all->list.pop_back();
            action(its_argument);
        }
        own_actions().set(&has_run);
    }
    delete all;
}

void run_in_main_thread();

// The hook calls run() at the end of each thread. The object is destroyed after the other static objects of
// the module. Then it runs what their destructors have registered.
#if defined(EKIDEN_HAS_EMULATED_TLS)
class hook {
public:
    hook() noexcept : is_set_(::pthread_key_create(&key_, &run) == 0) {}
    ~hook() {
        run_in_main_thread();
        if (is_set_) ::pthread_key_delete(key_);
    }
    hook(const hook&) = delete;
    hook& operator=(const hook&) = delete;
    bool set(exit_actions* actions) noexcept { return is_set_ && ::pthread_setspecific(key_, actions) == 0; }

private:
    pthread_key_t key_{};
    bool is_set_;
};
__attribute__((init_priority(101))) hook at_end;
#else
class hook {
public:
    hook() noexcept : slot_(::FlsAlloc(&run)) {}
    ~hook() {
        run_in_main_thread();
        if (slot_ != FLS_OUT_OF_INDEXES) ::FlsFree(slot_);
    }
    hook(const hook&) = delete;
    hook& operator=(const hook&) = delete;
    bool set(exit_actions* actions) noexcept {
        return slot_ != FLS_OUT_OF_INDEXES && ::FlsSetValue(slot_, actions) != 0;
    }

private:
    DWORD slot_;
};
hook at_end;
#endif

/// The thread that has loaded the library: the main thread of a program.
const DWORD main_thread = ::GetCurrentThreadId();

/// The actions of the main thread run in exit(), before the destructors of older static objects.
void run_in_main_thread() {
    void* const here = own_actions().get();
    if (here == nullptr || here == &has_run) return;
    auto* const all = static_cast<exit_actions*>(here);
    if (all->thread != main_thread) return;
    (void)at_end.set(nullptr);
    run(all);
}

} // namespace

bool at_thread_exit(void (*action)(void*), void* argument) {
    void* here = own_actions().get();
    if (here == &has_run) return false;
    if (here == nullptr) {
        auto made = std::make_unique<exit_actions>();
        if (made->thread == main_thread && std::atexit(&run_in_main_thread) != 0) throw std::bad_alloc();
        if (!at_end.set(made.get())) throw std::bad_alloc();
        here = made.release();
        own_actions().set(here);
    }
    static_cast<exit_actions*>(here)->list.emplace_back(action, argument);
    return true;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
