// What other threads can see of a worker. The watch, dump(), live views, reports and metrics use these
// functions.
#include <ekiden/pool/detail/worker.hpp>

#include <ekiden/sys/clock.hpp>

#include <algorithm>

namespace ekiden::inline EKIDEN_ABI {

void worker::show(snapshot::state is) noexcept {
    if (is != snapshot::state::busy) since_ns_.store(sys::now_ns(), sys::relaxed);
    is_.store(is, sys::relaxed);
}

worker::snapshot worker::look() const noexcept {
    return {.is = is_.load(sys::relaxed),
            .finished = finished(),
            .task_type = running_type_.load(sys::relaxed),
            .awaited = awaited_.load(sys::relaxed),
            .awaited_type = awaited_type_.load(sys::relaxed),
            .blocked_on = blocked_on_.load(sys::acquire), // [DU1]
            .wanted_lock = locks_.wanted(),
            .since_ns = since_ns_.load(sys::relaxed)};
}

char worker::snapshot::sign() const noexcept {
    if (is == state::gone) return ' ';
    if (is == state::standing_by) return '-';
    if (is == state::held) return 'p';
    if (blocked_on != nullptr) return 'b';
    if (is == state::asleep) return awaited != nullptr ? 'w' : '.';
    return '#';
}

bool worker::seems_to_run(const task* one, task::function type) const noexcept {
    // The type is also compared, because another task may reuse the memory of a finished task.
    if (running_.load(sys::relaxed) == one && running_type_.load(sys::relaxed) == type) return true;
    return std::any_of(on_stack_.begin(), on_stack_.end(), [=](const shown_task& waiting) {
        return waiting.self.load(sys::relaxed) == one && waiting.type.load(sys::relaxed) == type;
    });
}

/// Returns the number of the task on top of the stack.
std::uint64_t worker::number_of_running() const noexcept {
    const std::uint64_t now = finished();
    return resumed_at_.load(sys::relaxed) == now ? resumed_number_.load(sys::relaxed) : now;
}

worker::all_in_progress worker::in_progress() const noexcept {
    all_in_progress result; // NOLINT(cppcoreguidelines-pro-type-member-init)
    result.count = 0;
    const snapshot::state is = is_.load(sys::relaxed);
    if (is == snapshot::state::gone || is == snapshot::state::standing_by) return result;
    for (const shown_task& waiting : on_stack_) {
        const task::function type = waiting.type.load(sys::relaxed);
        if (type == nullptr) break;
        result.tasks[result.count++] = {type, waiting.number.load(sys::relaxed)};
    }
    const task::function type = running_type_.load(sys::relaxed);
    // Only a busy worker runs the task on top of the stack. If the stack is too deep, the task is not known.
    if (is == snapshot::state::busy && type != nullptr && result.count != most_shown)
        result.tasks[result.count++] = {type, number_of_running()};
    return result;
}

bool worker::runs(const completion& result) const noexcept {
    for (const wait_frame* f = waits_; f != nullptr; f = f->outer) {
        // The type is compared for the same reason as in seems_to_run().
        if (f->waiting.self == &result && f->waiting.type == result.type()) return true;
    }
    return false;
}

std::string_view worker::running_type() const noexcept {
    const task::function type = running_type_.load(sys::relaxed);
    return type != nullptr ? described_type(type(nullptr, task_request::describe)) : "nothing";
}

void worker::add_to(thread_pool_metrics& sum) const noexcept {
    sum.tasks_run += ran_.value();
    sum.tasks_abandoned += abandoned_.value();
    sum.stolen += stolen_.value();
    sum.injected += injected_.value();
    sum.parks += parks_.value();
    sum.wakes += wakes_.value();
    sum.queue_delay += delays_.snapshot();
}

} // namespace ekiden::inline EKIDEN_ABI
