/// An execution context in virtual time, which runs tasks in an order that a seed chooses. Use this context
/// to test programs with executors, timers, strands, lanes, futures and coroutines.
///
/// Part: sim. Used by: tests of programs, explore. The guide: docs/simulation.md.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/sim/options.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

namespace sim {

class simulation;
class sim_role;
class link;

/// The options of a sim_context: the kind of context that it simulates.
struct context_options {
    const char* name = "context"; ///< The name must outlive the exploration.
    /// If true, tasks begin in the order of their posts, like in a loop_context that one thread runs.
    /// Otherwise tasks begin in any order, like in a pool.
    bool in_order = false;
    /// If true, a task that waits for a result (future::get()) runs other tasks meanwhile, like a worker of a
    /// pool. If false, the simulation reports such a wait as `blocking`.
    bool helps = false;
};

} // namespace sim

/// A context of a simulation. The first context begins the simulation. Later contexts join the simulation of
/// the calling thread. All contexts of a simulation share one virtual time, one thread and one sequence of
/// choices.
///
/// A task is one step. During a task, other tasks run only at a sim::point(), and in waits for results (see
/// sim::context_options::helps). The seed chooses the next step. The next step can be a task without a
/// required order, the oldest task of a strand or lane, or a move of virtual time. If no task can run,
/// virtual time moves to the next timer. A seed may also move virtual time earlier. Tasks take no virtual
/// time. A strand or lane runs one task at a time.
///
/// Thread safety: one thread makes, uses and destroys all contexts of a simulation. A simulation has no other
/// thread.
class sim_context final : public execution_context {
public:
    using options = sim::context_options;

    explicit sim_context(const options& chosen = {});
    /// Begins a simulation with this seed. With seed 0, no fault occurs and the oldest task always runs
    /// first. If a step fails, run() throws an exception. The what() of this exception describes the failure
    /// and shows the last steps. A call that blocks prints the same text and terminates the program. If no
    /// exception has reported a failure, the destructor of this context also terminates the program. Throws
    /// std::invalid_argument if the thread is already in a simulation.
    explicit sim_context(std::uint64_t seed, const options& chosen = {}, const sim::options& limits = {});
    /// Stops the context like stop(). It is a failure if tasks are queued, unless the context has been
    /// stopped before. The destructor must run between two steps, or in a step of another context.
    ~sim_context() override;

    class executor_type;
    [[nodiscard]] executor_type get_executor() noexcept;

    /// Runs all contexts of the simulation until neither a task nor a timer is left. Returns the number of
    /// steps. The run fails if a step fails, or if a coroutine or a work guard remains at the end. After a
    /// failure, run() throws an exception that ends the test.
    std::size_t run();
    /// Runs like run(), but only until `length` of virtual time has passed. Coroutines and work guards may
    /// remain.
    template <class Rep, class Period>
    std::size_t run_for(const std::chrono::duration<Rep, Period>& length) {
        return run_for_ns(std::chrono::nanoseconds(sys::bounded(length)).count());
    }

    /// Abandons the queued tasks, and refuses new tasks. The futures of the abandoned tasks report
    /// operation_canceled.
    void stop() noexcept;
    /// Returns whether the context has stopped and refuses tasks.
    [[nodiscard]] bool is_stopped() const noexcept { return refuses_tasks(); }

    /// Turns all faults off, so that every accepted task must complete. Each seed allows a limited number of
    /// faults. After the last allowed fault, no further fault occurs.
    void end_faults() noexcept;

    /// Returns the virtual time since the beginning of the simulation.
    [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept;
    [[nodiscard]] const char* name() const noexcept { return name_; }

private:
    friend class sim::simulation;
    friend class sim::link;

    sim_context(std::unique_ptr<sim::simulation> own, const options& chosen);

    [[nodiscard]] bool adopt(alarm_clock& clock) noexcept override;
    void alarm_moved() noexcept override {}
    std::size_t run_for_ns(std::int64_t length);
    bool accept(task* accepted, task_order order);
    [[nodiscard]] bool take_over(task* refused) override { return accept(refused, task_order::usual); }
    void end_early() noexcept;
    std::size_t drop_queued() noexcept;
    void expect_own_thread() const noexcept;

    // The simulation, if this context is the first one and owns the simulation. The pointer is null if
    // explore() owns the simulation, and in later contexts.
    const std::unique_ptr<sim::simulation> own_;
    sim::simulation& world_;
    const char* const name_;
    const std::unique_ptr<sim::sim_role> role_;
    const std::uint32_t line_; // 0 if tasks may begin in any order
    alarm_clock* alarm_ = nullptr;
    std::int64_t work_ = 0;
    unsigned inside_ = 0;                // number of running steps
    sys::atomic<std::uint32_t> gate_{0}; // 1 if stopped
};

/// The executor of a context: a small handle that can be copied. Two executors are equal if they have the
/// same context. The class task_sink provides the operations of the executor. If the fault `allocation` is
/// on, these operations may throw std::bad_alloc.
class sim_context::executor_type : public task_sink<executor_type> {
public:
    [[nodiscard]] sim_context& context() const noexcept { return *context_; }
    friend bool operator==(const executor_type&, const executor_type&) = default;

    void on_work_started() const noexcept { ++context_->work_; }
    void on_work_finished() const noexcept { --context_->work_; }
    /// Returns whether the innermost running step belongs to this context.
    [[nodiscard]] bool running_in_this_thread() const noexcept;

    /// Posts like task_sink. The seed may make the allocation fail.
    template <class F, class Allocator = std::allocator<void>>
    bool post(F&& f, const Allocator& allocator = {}) const {
        sim::allocation_point();
        return task_sink<executor_type>::post(std::forward<F>(f), allocator);
    }
    /// Submits like task_sink. The seed may make the allocation fail.
    template <class F, class... Args>
    auto submit(F&& f, Args&&... args) const {
        sim::allocation_point();
        return task_sink<executor_type>::submit(std::forward<F>(f), std::forward<Args>(args)...);
    }

    void report_unhandled(const char* type) const noexcept;

private:
    friend class sim_context;
    friend struct detail::sink_access;

    explicit executor_type(sim_context& context) noexcept : context_(&context) {}

    bool accept(task* accepted, task_order order) const { return context_->accept(accepted, order); }

    sim_context* context_;
};

inline sim_context::executor_type sim_context::get_executor() noexcept { return executor_type(*this); }

namespace sim {
using ekiden::sim_context;
} // namespace sim

} // namespace ekiden::inline EKIDEN_ABI
