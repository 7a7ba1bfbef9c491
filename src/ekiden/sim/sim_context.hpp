/// An execution context in virtual time. It runs tasks in an order that a seed chooses. It tests programs
/// that use executors, timers, strands, lanes, futures and coroutines.
///
/// Part: sim. Used by: tests of programs; explore creates one for each run. The guide: docs/simulation.md.
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
    const char* name = "context"; ///< must outlive the exploration
    /// If true, tasks begin in the order of their posts, like in a loop_context that one thread runs.
    /// Otherwise they begin in any order, like in a pool.
    bool in_order = false;
    /// If true, a task that waits for a result (future::get()) runs other tasks meanwhile, like a worker of a
    /// pool. Otherwise such a wait is reported as blocking.
    bool helps = false;
};

} // namespace sim

/// A context of a simulation. The first one begins the simulation; later ones join the simulation of the
/// calling thread. All contexts of a simulation share its time, its thread and its choices.
///
/// A task is one step. Other tasks run during it only at a sim::point(). The next step is chosen among
/// everything that can run: tasks without a mutual order, the oldest task of each strand and of each lane,
/// and time. Time moves to the next timer if nothing else can run, and sometimes earlier. Tasks take no time.
/// A strand or lane runs one task at a time.
///
/// Thread safety: one thread makes, uses and destroys it. A simulation has no other thread.
class sim_context final : public execution_context {
public:
    using options = sim::context_options;

    explicit sim_context(const options& chosen = {});
    /// Begins a simulation with this seed. With seed 0, nothing unusual happens. A failure leaves run() as an
    /// exception. Its what() describes the failure and shows the last steps. A call that blocks terminates
    /// the program with the same text. So does the destructor of this context, if no exception has reported a
    /// failure. Throws std::invalid_argument in a simulation.
    explicit sim_context(std::uint64_t seed, const options& chosen = {}, const sim::options& limits = {});
    /// Stops like stop(), but queued tasks count as lost, which is a failure. Call it between two steps, or
    /// in a step of another context.
    ~sim_context() override;

    class executor_type;
    [[nodiscard]] executor_type get_executor() noexcept;

    /// Runs all contexts of the simulation until neither a task nor a timer is left. Returns the number of
    /// steps. It is a failure if announced work (a coroutine, a work guard) has not completed then, or if a
    /// step fails. A failure leaves run() as an exception that ends the test.
    std::size_t run();
    /// Runs like run(), until `length` of virtual time has passed. Announced work may remain.
    template <class Rep, class Period>
    std::size_t run_for(const std::chrono::duration<Rep, Period>& length) {
        return run_for_ns(std::chrono::nanoseconds(sys::bounded(length)).count());
    }

    /// Abandons the queued tasks and refuses new ones. Their futures report operation_canceled.
    void stop() noexcept;
    /// Returns whether the context has stopped and refuses tasks.
    [[nodiscard]] bool is_stopped() const noexcept { return refuses_tasks(); }

    /// Turns all faults off, so that everything that was accepted must complete. The same happens when the
    /// faults that the seed has drawn are used up.
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

    const std::unique_ptr<sim::simulation> own_; // owned by the first context, except in explore
    sim::simulation& world_;
    const char* const name_;
    const std::unique_ptr<sim::sim_role> role_;
    const std::uint32_t line_; // 0 if tasks have no order
    alarm_clock* alarm_ = nullptr;
    std::int64_t work_ = 0;
    unsigned inside_ = 0;                // number of running steps
    sys::atomic<std::uint32_t> gate_{0}; // 1 if stopped
};

/// An executor: a cheap, copyable handle of a context. Executors are equal if their contexts are the same.
/// Its operations are those of task_sink. With the fault `allocation`, they may throw std::bad_alloc.
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

    // ---- called by task_sink

    bool accept(task* accepted, task_order order) const { return context_->accept(accepted, order); }
    [[nodiscard]] task* continue_with(task* inside) const {
        if (running_in_this_thread()) return inside;
        accept(inside, task_order::usual);
        return nullptr;
    }
    void report_unhandled(const char* type) const noexcept;

private:
    friend class sim_context;
    explicit executor_type(sim_context& context) noexcept : context_(&context) {}

    sim_context* context_;
};

inline sim_context::executor_type sim_context::get_executor() noexcept { return executor_type(*this); }

namespace sim {
using ekiden::sim_context;
} // namespace sim

} // namespace ekiden::inline EKIDEN_ABI
