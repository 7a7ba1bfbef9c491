#include <ekiden/execution/detail/run_task.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

void run_traced(task& next) {
    // The trace identifies the type of a task by the address of the task's function.
    const void* const key = reinterpret_cast<const void*>(next.type());
    const std::uint64_t begun = trace::detail::begin(trace::kind::task, key, [](const void* function) {
        const auto answer = reinterpret_cast<task::function>(const_cast<void*>(function));
        return described_type(answer(nullptr, task_request::describe));
    });
    struct at_end {
        std::uint64_t begun;
        std::uint64_t id;
        ~at_end() {
            if (begun != trace::detail::nothing) trace::detail::end(begun, id);
        }
    } const guard{begun, trace::detail::id_of(&next)};
    next.run();
}

} // namespace ekiden::inline EKIDEN_ABI::detail
