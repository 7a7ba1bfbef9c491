#include <ekiden/sim/sim_context.hpp>

#include <ekiden/sim/detail/simulation.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/contract.hpp>

#include <exception>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace {

// the expected number of choices in a run, if no earlier run has counted its choices
constexpr std::uint32_t usual_choices = 100;

std::unique_ptr<sim::simulation> begun_with(std::uint64_t seed, const sim::options& limits) {
    if (simulation_here() != nullptr) {
        sys::refuse_argument("sim_context", "seed", seed,
                             "none inside of a simulation, which has a seed already");
    }
    sim::check_options(limits);
    return std::make_unique<sim::simulation>(seed, usual_choices, limits);
}

} // namespace

sim_context::sim_context(const options& chosen)
    : sim_context(simulation_here() == nullptr ? begun_with(0, {}) : nullptr, chosen) {}

sim_context::sim_context(std::uint64_t seed, const options& chosen, const sim::options& limits)
    : sim_context(begun_with(seed, limits), chosen) {}

sim_context::sim_context(std::unique_ptr<sim::simulation> own, const options& chosen)
    : own_(std::move(own)), world_(*sim::simulation::here()), name_(chosen.name),
      role_(std::make_unique<sim::sim_role>(id(), world_, chosen.helps)),
      line_(chosen.in_order ? world_.new_line() : 0) {
    set_gate(gate_, 1, 1);
    world_.add(*this);
}

sim_context::~sim_context() {
    expect_own_thread();
    sys::expects(inside_ == 0, "a sim_context is destroyed in the middle of one of its tasks");
    const bool has_stopped = gate_.exchange(1, sys::relaxed) != 0;
    shut_down_services();
    const std::size_t dropped = drop_queued();
    end_services();
    world_.remove(*this);
    if (dropped != 0 && !has_stopped && !world_.has_test_ended()) {
        world_.fail_at_end(sim::verdict::lost,
                           std::string(name_) + " ends with tasks that it has accepted and not run",
                           "  " + std::to_string(dropped) + " of them\n");
    }
}

std::size_t sim_context::drop_queued() noexcept {
    std::size_t dropped = 0;
    for (; task* const left = world_.take_any(*this); ++dropped) left->abandon();
    return dropped;
}

/// Destroys all tasks and coroutines of the context. The simulation calls this function after the run has
/// failed.
void sim_context::end_early() noexcept {
    gate_.store(1, sys::relaxed);
    shut_down_services();
    (void)drop_queued();
    end_services();
    alarm_ = nullptr;
}

void sim_context::expect_own_thread() const noexcept {
    sys::expects(simulation_here() == &world_,
                 "a sim_context is used by a thread that is not in its simulation");
}

// ---- tasks arrive

bool sim_context::accept(task* accepted, task_order order) {
    expect_own_thread();
    if (is_stopped()) {
        accepted->abandon();
        return false;
    }
    world_.put(accepted, *this, order, line_, 0);
    return true;
}

void sim_context::executor_type::report_unhandled(const char* type) const noexcept {
    std::string why = "a task has thrown";
    try {
        throw;
    } catch (const sim::run_ended&) {
        return; // The failure is already recorded.
    } catch (const std::exception& error) {
        (why += ": ") += error.what();
    } catch (...) {
    }
    context_->world_.fail(sim::verdict::exception, std::move(why),
                          "  " + std::string(described_type(type)) + "\n");
}

bool sim_context::executor_type::running_in_this_thread() const noexcept {
    return context_->world_.is_running(*context_);
}

// ---- tasks run

std::size_t sim_context::run() {
    expect_own_thread();
    return world_.run();
}

std::size_t sim_context::run_for_ns(std::int64_t length) {
    expect_own_thread();
    return world_.run_until(world_.now_ns() + length);
}

void sim_context::stop() noexcept {
    expect_own_thread();
    if (gate_.exchange(1, sys::relaxed) != 0) return;
    (void)drop_queued();
}

void sim_context::end_faults() noexcept { world_.end_faults(); }

std::chrono::nanoseconds sim_context::elapsed() const noexcept {
    return std::chrono::nanoseconds(world_.elapsed_ns());
}

bool sim_context::adopt(alarm_clock& clock) noexcept {
    if (alarm_ != nullptr) return false;
    alarm_ = &clock;
    return true;
}

} // namespace ekiden::inline EKIDEN_ABI
