#include <ekiden/execution/detail/own_thread.hpp>

#include <ekiden/sys/contract.hpp>

#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

class coroutine_promise;
class suspension;

namespace {

/// Returns whether a task with this description begins or resumes a coroutine.
bool is_coroutine(std::string_view description) noexcept {
    return description == type_description<coroutine_promise>()
           || description == type_description<suspension>();
}

/// Returns a description of the code that destroys the context.
std::string culprit(bool is_inside, task::function running) {
    const char* const hook = thread_record::here().hook;
    std::string result = hook != nullptr ? std::string("in its function ") + hook
                                         : std::string("by the destructor of a thread_local object");
    if (!is_inside) return result;
    std::string which = "an event";
    if (running != nullptr) {
        const char* const description = running(nullptr, task_request::describe);
        which = is_coroutine(description) ? "a coroutine, or the end of its frame"
                                          : "a task of type " + std::string(described_type(description));
    }
    return hook != nullptr ? result + ", called for " + which : "by " + which;
}

} // namespace

void refuse_destruction(const char* kind, bool is_inside, task::function running) noexcept {
    const std::string text = std::string("a ") + kind + " is destroyed in one of its own threads, "
                             + culprit(is_inside, running)
                             + "; give it an owner outside of its threads, or call stop() there and let the "
                               "owner wait for its end";
    sys::contract_broken(text.c_str());
}

} // namespace ekiden::inline EKIDEN_ABI
