/// A simulation with its own virtual time. One thread runs all tasks of a program, in an order that is chosen
/// step by step.
///
/// Part: sim. Used by: sim_context, checks, link, explore. Private. The page simulation.md explains the
/// simulation.
#pragma once

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sim/detail/seed_plan.hpp>
#include <ekiden/sim/detail/tape.hpp>
#include <ekiden/sim/detail/timeline.hpp>
#include <ekiden/sim/options.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {
class completion;
class coroutine_promise;
class sim_context;
} // namespace ekiden::inline EKIDEN_ABI

namespace ekiden::inline EKIDEN_ABI::sim {

class simulation;

/// Throws std::invalid_argument for an option that is out of range.
void check_options(const options& chosen);

/// The progress of a simulation: the number of steps, and the type of the running task. Another thread may
/// read this struct.
struct pulse {
    sys::atomic<std::uint32_t> steps{0};
    sys::atomic<task::function> type{nullptr};
};

/// The exception that ends the handlers and the test after a failure. The simulation has recorded the failure
/// before it throws this exception. what() describes the failure.
class run_ended : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct finding {
    verdict kind = verdict::none;
    std::string why;     ///< The reason of the failure. Two runs with the same bug have equal reasons.
    std::string details; ///< Further lines.
};

/// The role of the thread of a simulation, while the thread runs tasks of a context or the test itself.
class sim_role final : public thread_role {
public:
    sim_role(context_id context, simulation& world, bool helps) noexcept
        : thread_role(context), world_(world), helps_(helps) {}
    [[nodiscard]] bool wait_for(completion& awaited, const wait_limit* limit) noexcept override;
    [[nodiscard]] bool begin_blocking(const char* what) noexcept override;
    void end_blocking() noexcept override {}

private:
    simulation& world_;
    const bool helps_; // whether a wait for a result runs other tasks
};

class simulation final : public simulated_thread {
public:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    /// Begins a simulation in the calling thread. The destructor ends the simulation. The seed determines the
    /// choices. `expected` is the approximate number of schedule choices.
    simulation(std::uint64_t seed, std::uint32_t expected, const options& chosen);
    /// Replays a tape.
    simulation(const tape& played, const options& chosen);
    ~simulation();

    [[nodiscard]] static simulation* here() noexcept { return static_cast<simulation*>(simulation_here()); }

    // ---- contexts

    void add(sim_context& fresh) { contexts_.push_back(&fresh); }
    void remove(sim_context& ended) noexcept;
    /// Returns the number of a new line. Tasks on one line keep their order, because only the oldest task on
    /// the line can run.
    [[nodiscard]] std::uint32_t new_line() {
        line_chains_.push_back(++last_chain_);
        return static_cast<std::uint32_t>(line_chains_.size());
    }
    /// Takes ownership of `given`, which will run in `where` after `delay`. Throws std::bad_alloc.
    void put(task* given, sim_context& where, task_order order, std::uint32_t line, std::int64_t delay);
    /// Removes and returns the oldest queued task of `where`. Returns null if that context has no queued
    /// task.
    [[nodiscard]] task* take_any(const sim_context& where) noexcept;
    /// Removes and returns the oldest queued task of `line`. Returns null if that line has no queued task.
    [[nodiscard]] task* take_line(std::uint32_t line) noexcept;
    [[nodiscard]] bool is_running(const sim_context& where) const noexcept { return running_ == &where; }
    [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

    // ---- the run

    /// Runs one task, or moves time to the next event that is due by `until`. Returns false if no task can
    /// run and no event is due, or if the run has failed.
    bool step(std::int64_t until = never);
    /// Runs all tasks and timers that are due by `until`. Then sets the time to `until`.
    std::size_t run_until(std::int64_t until);
    /// Runs until no task can run and no timer is left. It is a failure if a coroutine or other outstanding
    /// work remains at the end. Throws run_ended after a failure.
    std::size_t run();
    /// Throws run_ended if the run has failed. Outside a step, first destroys the queued tasks and the
    /// waiting coroutines. Then the test can safely destroy the objects that these tasks and coroutines use.
    void throw_if_failed() {
        settle();
        if (failure_.kind != verdict::none) throw_failure();
    }
    /// Lets other tasks run in the middle of the running step.
    void point();
    [[nodiscard]] bool wait_for(completion& awaited, const wait_limit* limit, bool helps) noexcept;
    [[noreturn]] void blocked(const char* what) noexcept;
    [[nodiscard]] std::uint32_t choose_next(std::uint32_t count) noexcept override;
    void refuse(const char* why) override;

    // ---- choices

    [[nodiscard]] std::uint32_t choose_data(std::uint32_t range);
    /// Returns 0 if no fault occurs. Otherwise returns a number from 1 to `range` - 1, which selects the
    /// variant of the fault.
    [[nodiscard]] std::uint32_t choose_fault(fault kind, std::uint32_t range, const char* what) noexcept;
    /// Returns the delay that a fault of this kind causes, in ns. 0 means no delay.
    [[nodiscard]] std::int64_t choose_delay(fault kind, const char* what) noexcept;
    void end_faults() noexcept { faults_are_over_ = true; }
    void at_any_time(const char* name, std::function<void()> action);
    void crash_and_restart(const char* name, std::function<void()> crash, std::function<void()> restart);

    // ---- failures

    /// Records the first failure of the run. Later calls have no effect.
    void fail(verdict kind, std::string why, std::string details = {}) noexcept;
    /// Like fail(), for a destructor of an object whose condition is not met. An exception may have caused
    /// the destruction. In that case, the unmet condition is a failure only if the program catches the
    /// exception. If the step or the test exits by the exception, then the exception is the failure.
    void fail_at_end(verdict kind, std::string why, std::string details = {}) noexcept;
    /// Like fail(), but never returns.
    [[noreturn]] void give_up(verdict kind, std::string why, std::string details = {}) noexcept;
    [[nodiscard]] const finding& failure() const noexcept { return failure_; }
    /// Throws run_ended, like throw_if_failed(). The run must have failed.
    [[noreturn]] void throw_failure();
    void note(std::string text) { log(step_kind::note, {}, std::move(text)); }
    void reached(const char* mark) { ++reached_[mark]; }

    /// Registers an event that must happen once. Returns the number of the event.
    [[nodiscard]] std::size_t expect_once(std::string name);
    /// Records that the event has happened. Fails at the second call for the same event.
    void done_once(std::size_t number);
    /// The destructor of an exactly_once calls this function. It is a failure if the event has not happened.
    void drop_once(std::size_t number) noexcept;

    // ---- called by explore

    [[nodiscard]] const seed_plan* plan() const noexcept { return plan_ ? &*plan_ : nullptr; }
    [[nodiscard]] const tape& made() const noexcept { return tape_; }
    [[nodiscard]] const timeline& steps() const noexcept { return log_; }
    [[nodiscard]] std::uint32_t step_count() const noexcept { return steps_; }
    [[nodiscard]] std::uint32_t schedule_choices() const noexcept {
        return static_cast<std::uint32_t>(tape_.of(stream::schedule).size());
    }
    [[nodiscard]] const std::map<std::string, std::uint64_t>& marks() const noexcept { return reached_; }
    /// From now on, the simulation updates `shown` at each step.
    void beat(pulse& shown) noexcept { pulse_ = &shown; }
    /// Sets the action that give_up() calls. After the action has returned, the thread stays in give_up()
    /// forever. Without an action, the simulation prints the failure and aborts the program.
    void on_give_up(std::function<void()> action) { on_give_up_ = std::move(action); }
    /// Records that the test has returned. After this call, the simulation does not call the actions that the
    /// test has passed to at_any_time().
    void end_test() noexcept {
        endings_.clear();
        processes_.clear();
        has_test_ended_ = true;
    }
    [[nodiscard]] bool has_test_ended() const noexcept { return has_test_ended_; }
    [[nodiscard]] bool has_run() const noexcept { return has_run_; }
    [[nodiscard]] bool has_queued() const noexcept { return !queued_.empty(); }
    [[nodiscard]] std::int64_t elapsed_ns() const noexcept { return now_ns_ - epoch; }
    [[nodiscard]] std::string waiting_text();

private:
    struct queued {
        task* what;
        sim_context* where;
        std::int64_t not_before;
        std::uint32_t line; // 0 means that the task is on no line.
        std::uint32_t chain;
    };
    struct once {
        std::string name;
        bool is_done = false;
        bool is_open = true;
    };
    struct ending {
        const char* name;
        std::function<void()> action;
    };
    struct process {
        const char* name;
        std::function<void()> crash;
        std::function<void()> restart;
        std::int64_t restart_at = never; // The process has crashed if this is not `never`.
    };
    struct current { // the running step
        sim_context* context;
        task::function type;
        std::uint32_t chain;
        const coroutine_promise* coroutine = nullptr; // the coroutine that ran when the step began
    };
    class step_scope;

    template <class Draw>
    std::uint32_t choose(stream of, std::uint32_t range, fault kind, Draw&& draw) noexcept;
    [[nodiscard]] task* take(std::vector<queued>::iterator found) noexcept;
    void gather();
    [[nodiscard]] std::int64_t next_event() const noexcept;
    [[nodiscard]] std::uint32_t pick(bool can_jump);
    void jump(std::int64_t to) noexcept;
    template <class Step>
    void run_guarded(Step&& body, const char* who);
    void run_queued(std::size_t index);
    void offer_ending();
    void offer_crash();
    void restart_due();
    void run_action(const std::function<void()>& action, const char* name);
    [[nodiscard]] std::uint32_t chain_of(const task& given, task_order order, std::uint32_t line);
    void log(step_kind kind, const current& of, std::string text = {});
    void check_rest();
    void tear_down() noexcept;
    [[nodiscard]] std::string running_text() const;
    [[nodiscard]] bool plays() const noexcept { return !plan_.has_value(); }
    void begin() noexcept;
    void settle() noexcept;
    [[nodiscard]] std::string failure_text() const;
    [[noreturn]] void end_program() const noexcept;

    std::optional<seed_plan> plan_; // is empty if the simulation replays a tape
    const tape played_;
    std::array<std::size_t, streams> played_up_to_{};
    tape tape_; // records the choices of this run
    const options options_;

    std::vector<sim_context*> contexts_;
    std::vector<queued> queued_; // oldest first
    std::vector<std::size_t> candidates_;
    std::vector<std::uint32_t> chains_; // the chain of each candidate
    std::vector<std::uint32_t> blocked_lines_;
    std::vector<std::uint32_t> line_chains_; // the chain of each line; the numbers of lines begin at 1
    std::uint32_t last_chain_ = 0;

    sim_context* running_ = nullptr;
    std::vector<current> stack_; // the running steps, innermost last
    std::size_t depth_ = 0;
    std::uint32_t steps_ = 0;
    bool is_ringing_ = false;
    bool faults_are_over_ = false;
    bool has_run_ = false;
    bool has_test_ended_ = false;

    std::vector<ending> endings_;
    std::vector<process> processes_;
    std::vector<once> onces_;
    std::map<std::string, std::uint64_t> reached_;
    timeline log_;
    finding failure_;
    finding unwound_;           // the finding of fail_at_end() while an exception is in flight
    int exceptions_at_end_ = 0; // number of exceptions in flight when fail_at_end() was called
    const int exceptions_at_begin_ = std::uncaught_exceptions();
    bool is_failure_told_ = false; // whether the test has received the failure as an exception
    std::function<void()> on_give_up_;
    pulse* pulse_ = nullptr;

    sim_role role_; // the role of the thread while the thread runs the test itself
    const role_scope scope_;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
