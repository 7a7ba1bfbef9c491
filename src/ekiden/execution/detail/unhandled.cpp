#include <ekiden/execution/detail/unhandled.hpp>

#include <ekiden/execution/detail/own_thread.hpp>
#include <ekiden/queue/task.hpp>

#include <cstdio>

namespace ekiden::inline EKIDEN_ABI {

void report_unhandled(const std::function<void(std::exception_ptr, std::string_view)>& handler,
                      const char* description) noexcept {
    const std::string_view name = described_type(description);
    const char* const what = name.data() == description ? "the function " : "a task of type ";
    if (handler) {
        const hook_scope here("on_unhandled_exception");
        handler(std::current_exception(), name);
        return;
    }
    try {
        throw;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ekiden: %s%.*s ended with an exception: %s\n", what,
                     static_cast<int>(name.size()), name.data(), error.what());
    } catch (...) {
        std::fprintf(stderr, "ekiden: %s%.*s ended with an exception\n", what, static_cast<int>(name.size()),
                     name.data());
    }
    std::terminate();
}

} // namespace ekiden::inline EKIDEN_ABI
