#include <ekiden/sys/thread.hpp>

#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

thread_local constinit bool has_run_exit_actions = false;

struct exit_actions {
    std::vector<std::pair<void (*)(void*), void*>> list;

    ~exit_actions() {
        while (!list.empty()) {
            const auto [action, argument] = list.back();
            list.pop_back();
            action(argument);
        }
        has_run_exit_actions = true;
    }

    static exit_actions& of_this_thread() {
        static thread_local exit_actions actions;
        return actions;
    }
};

/// Creates the main thread's list at the start of the program. So the list is destroyed with the thread_local
/// objects of the main thread. If the destructor of a static object created the list later, the list would
/// never be destroyed.
[[maybe_unused]] const exit_actions& of_main_thread = exit_actions::of_this_thread();

} // namespace

bool at_thread_exit(void (*action)(void*), void* argument) {
    if (has_run_exit_actions) return false;
    exit_actions::of_this_thread().list.emplace_back(action, argument);
    return true;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
