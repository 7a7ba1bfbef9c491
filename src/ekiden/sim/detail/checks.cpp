#include <ekiden/sim/checks.hpp>

#include <ekiden/sim/detail/simulation.hpp>

#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI::sim {

namespace {

[[noreturn]] void found(verdict kind, const std::string& why, std::string details = {}) {
    simulation* const here = simulation::here();
    if (here == nullptr) throw std::logic_error("ekiden: sim: " + why);
    here->fail(kind, why, std::move(details));
    here->throw_failure();
}

} // namespace

void point() {
    if (simulation* const here = simulation::here()) here->point();
}

void note(std::string text) {
    if (simulation* const here = simulation::here()) here->note(std::move(text));
}

void reached(const char* mark) {
    if (simulation* const here = simulation::here()) here->reached(mark);
}

std::uint32_t choose(std::uint32_t range) {
    simulation* const here = simulation::here();
    return here != nullptr ? here->choose_data(range) : 0;
}

void at_any_time(const char* name, std::function<void()> action) {
    if (simulation* const here = simulation::here()) here->at_any_time(name, std::move(action));
}

void crash_and_restart(const char* name, std::function<void()> crash, std::function<void()> restart) {
    if (simulation* const here = simulation::here())
        here->crash_and_restart(name, std::move(crash), std::move(restart));
}

void may_throw(const char* what) {
    if (may_fail(what)) throw injected_fault(what);
}

bool may_fail(const char* what) noexcept {
    simulation* const here = simulation::here();
    return here != nullptr && here->choose_fault(fault::throwing, 2, what) != 0;
}

void allocation_point() {
    simulation* const here = simulation::here();
    if (here != nullptr && here->choose_fault(fault::allocation, 2, "std::bad_alloc") != 0)
        throw std::bad_alloc();
}

void expect(bool holds, const char* what) {
    if (!holds) found(verdict::expectation, what);
}

exactly_once::exactly_once(std::string name) {
    simulation* const here = simulation::here();
    if (here == nullptr) return;
    number_ = here->expect_once(std::move(name));
    is_simulated_ = true;
}

exactly_once::~exactly_once() {
    simulation* const here = simulation::here();
    if (is_simulated_ && here != nullptr) here->drop_once(number_);
}

void exactly_once::done() {
    const bool was_done = std::exchange(is_done_, true);
    simulation* const here = simulation::here();
    if (is_simulated_ && here != nullptr)
        here->done_once(number_);
    else if (was_done)
        found(verdict::count, "it is done twice");
}

void life::watch::expect_alive() const {
    if (of_->has_ended) found(verdict::dead, of_->name);
}

void detail::fail_order(const std::string& name, std::int64_t before, std::int64_t number) {
    found(verdict::order, name,
          "  " + std::to_string(number) + " came after " + std::to_string(before) + "\n");
}

} // namespace ekiden::inline EKIDEN_ABI::sim
