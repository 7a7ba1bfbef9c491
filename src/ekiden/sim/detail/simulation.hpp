/// A world with its own time, in which one thread runs a program in an order that is chosen step by step.
///
/// Part: sim. Used by: sim_context and what is below it; explore. Private. How it works: simulation.md.
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

/// What a thread outside may see of a simulation that runs: how far it is, and in what.
struct pulse {
    sys::atomic<std::uint32_t> steps{0};
    sys::atomic<task::function> type{nullptr};
};

/// Leaves the handlers, and the test, when something has been found: the simulation knows it already. Says
/// what has been found.
class run_ended : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct finding {
    verdict kind = verdict::none;
    std::string why;     ///< one line; equal for the same bug
    std::string details; ///< more lines
};

/// What the thread is while it runs tasks of a context, or the test itself.
class sim_role final : public thread_role {
public:
    sim_role(context_id context, simulation& world, bool helps) noexcept
        : thread_role(context), world_(world), helps_(helps) {}
    [[nodiscard]] bool wait_for(completion& awaited, const wait_limit* limit) noexcept override;
    [[nodiscard]] bool begin_blocking(const char* what) noexcept override;
    void end_blocking() noexcept override {}

private:
    simulation& world_;
    const bool helps_; // runs others while it waits for a result
};

class simulation final : public simulated_thread {
public:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    /// From now on the calling thread is in it, until its end. Draws with the seed; `expected` is how many
    /// choices of the schedule there will be, about.
    simulation(std::uint64_t seed, std::uint32_t expected, const options& chosen);
    /// Plays.
    simulation(const tape& played, const options& chosen);
    ~simulation();

    [[nodiscard]] static simulation* here() noexcept { return static_cast<simulation*>(simulation_here()); }

    // ---- contexts

    void add(sim_context& fresh) { contexts_.push_back(&fresh); }
    void remove(sim_context& ended) noexcept;
    /// A number of its own for what keeps an order: of one line only the oldest task can run.
    [[nodiscard]] std::uint32_t new_line() {
        line_chains_.push_back(++last_chain_);
        return static_cast<std::uint32_t>(line_chains_.size());
    }
    /// Takes `given` over, to be run in `where` after `delay`. Throws std::bad_alloc.
    void put(task* given, sim_context& where, task_order order, std::uint32_t line, std::int64_t delay);
    /// Takes out what is queued for `where`, the oldest first; null: nothing.
    [[nodiscard]] task* take_any(const sim_context& where) noexcept;
    /// The same of a line.
    [[nodiscard]] task* take_line(std::uint32_t line) noexcept;
    [[nodiscard]] bool is_running(const sim_context& where) const noexcept { return running_ == &where; }
    [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

    // ---- the run

    /// Runs one task, or moves time to the next event, but not beyond `until`. False: there is nothing to do,
    /// or the run has failed.
    bool step(std::int64_t until = never);
    /// All that there is, before that time; then it is that time.
    std::size_t run_until(std::int64_t until);
    /// All that there is; then nobody waits. Throws run_ended.
    std::size_t run();
    /// Leaves the step or the test. The test must be able to end what its coroutines wait for, so these, and
    /// whatever is queued, end before.
    void throw_if_failed() {
        settle();
        if (failure_.kind != verdict::none) throw_failure();
    }
    /// A place where others may run.
    void point();
    [[nodiscard]] bool wait_for(completion& awaited, const wait_limit* limit, bool helps) noexcept;
    [[noreturn]] void blocked(const char* what) noexcept;
    [[nodiscard]] std::uint32_t choose_next(std::uint32_t count) noexcept override;
    void refuse(const char* why) override;

    // ---- choices

    [[nodiscard]] std::uint32_t choose_data(std::uint32_t range);
    /// 0: no fault. Anything else: how bad it is.
    [[nodiscard]] std::uint32_t choose_fault(fault kind, std::uint32_t range, const char* what) noexcept;
    /// A delay for a fault of a kind; 0: none.
    [[nodiscard]] std::int64_t choose_delay(fault kind, const char* what) noexcept;
    void end_faults() noexcept { faults_are_over_ = true; }
    void at_any_time(const char* name, std::function<void()> action);

    // ---- what is found

    /// The first one counts.
    void fail(verdict kind, std::string why, std::string details = {}) noexcept;
    /// The same at the end of an object whose duty is not done. If an exception destroys the object, it is a
    /// failure only when the program has caught that exception. One that leaves the step or the test is the
    /// failure itself.
    void fail_at_end(verdict kind, std::string why, std::string details = {}) noexcept;
    /// The same as fail(), and the thread never comes back.
    [[noreturn]] void give_up(verdict kind, std::string why, std::string details = {}) noexcept;
    [[nodiscard]] const finding& failure() const noexcept { return failure_; }
    /// Throws run_ended, as throw_if_failed() does: something has been found.
    [[noreturn]] void throw_failure();
    void note(std::string text) { log(step_kind::note, {}, std::move(text)); }
    void reached(const char* mark) { ++reached_[mark]; }

    /// Something that has to happen once. Returns its number.
    [[nodiscard]] std::size_t expect_once(std::string name);
    /// Whether it was the first time.
    void done_once(std::size_t number);
    /// Its object has ended.
    void drop_once(std::size_t number) noexcept;

    // ---- for explore

    [[nodiscard]] const seed_plan* plan() const noexcept { return plan_ ? &*plan_ : nullptr; }
    [[nodiscard]] const tape& made() const noexcept { return tape_; }
    [[nodiscard]] const timeline& steps() const noexcept { return log_; }
    [[nodiscard]] std::uint32_t step_count() const noexcept { return steps_; }
    [[nodiscard]] std::uint32_t schedule_choices() const noexcept {
        return static_cast<std::uint32_t>(tape_.of(stream::schedule).size());
    }
    [[nodiscard]] const std::map<std::string, std::uint64_t>& marks() const noexcept { return reached_; }
    /// From now on it tells how far it is.
    void beat(pulse& shown) noexcept { pulse_ = &shown; }
    /// Called by give_up(), in whose middle the simulation stays for ever. A simulation without it is on its
    /// own, and tells its failure itself.
    void on_give_up(std::function<void()> action) { on_give_up_ = std::move(action); }
    /// The test has ended: nothing of it is called any more.
    void end_test() noexcept {
        endings_.clear();
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
        std::uint32_t line; // 0: none
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
    struct current { // of the step that runs
        sim_context* context;
        task::function type;
        std::uint32_t chain;
        const coroutine_promise* coroutine = nullptr; // when it begins
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

    std::optional<seed_plan> plan_; // null: it plays
    const tape played_;
    std::array<std::size_t, streams> played_up_to_{};
    tape tape_; // as it is made
    const options options_;

    std::vector<sim_context*> contexts_;
    std::vector<queued> queued_; // the oldest first
    std::vector<std::size_t> candidates_;
    std::vector<std::uint32_t> chains_; // of the candidates
    std::vector<std::uint32_t> blocked_lines_;
    std::vector<std::uint32_t> line_chains_; // of the lines, from 1 on
    std::uint32_t last_chain_ = 0;

    sim_context* running_ = nullptr;
    std::vector<current> stack_; // steps that run, the innermost last
    std::size_t depth_ = 0;
    std::uint32_t steps_ = 0;
    bool is_ringing_ = false;
    bool faults_are_over_ = false;
    bool has_run_ = false;
    bool has_test_ended_ = false;

    std::vector<ending> endings_;
    std::vector<once> onces_;
    std::map<std::string, std::uint64_t> reached_;
    timeline log_;
    finding failure_;
    finding unwound_;           // of fail_at_end(), while an exception is under way
    int exceptions_at_end_ = 0; // that were under way then
    const int exceptions_at_begin_ = std::uncaught_exceptions();
    bool is_failure_told_ = false; // by an exception that has left run(), or the test
    std::function<void()> on_give_up_;
    pulse* pulse_ = nullptr;

    sim_role role_; // of the test itself
    const role_scope scope_;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
