/// An execution context in virtual time, whose thread runs what it has in an order that a seed chooses: for
/// tests of programs that use executors, timers, strands, lanes, futures and coroutines.
///
/// Part: sim. Used by: tests of programs; explore makes one for each run. The guide: docs/simulation.md.
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

/// What a context stands for.
struct context_options {
    const char* name = "context"; ///< outlives the exploration
    /// Tasks begin in the order of their posts, as in a loop_context that one thread runs. Otherwise in any
    /// order, as in a pool.
    bool in_order = false;
    /// A task that waits for a result (future::get()) runs others meanwhile, as a worker of a pool does.
    /// Otherwise that is reported: it would block the thread.
    bool helps = false;
};

} // namespace sim

/// A context of the simulation in which the calling thread is, or of one that it begins. There may be several
/// contexts in a simulation; they share its time, its thread and its choices.
///
/// A task is a step: it runs whole, and no other one comes in between, but at a sim::point(). What is to run
/// next is chosen among all that can: tasks without an order between them, each strand's and each lane's
/// oldest, and time, which moves to the next timer when nothing else can run, and sometimes before. Tasks
/// take no time. Of a strand or lane one task is taken at a time.
///
/// One thread makes, uses and ends it: in a simulation there is no other one.
class sim_context final : public execution_context {
public:
    using options = sim::context_options;

    explicit sim_context(const options& chosen = {});
    /// Begins a simulation with this seed; 0: everything is as dull as can be. A failure leaves run() as an
    /// exception, whose what() says what has failed and shows the last steps. A call that blocks ends the
    /// program with the same text, and so does the destructor of this context if no exception has told a
    /// failure. Throws std::invalid_argument in a simulation.
    explicit sim_context(std::uint64_t seed, const options& chosen = {}, const sim::options& limits = {});
    /// As stop(), but what is queued counts as lost, which is a failure. Between two steps, or in a step of
    /// another context.
    ~sim_context() override;

    class executor_type;
    [[nodiscard]] executor_type get_executor() noexcept;

    /// Runs all contexts of the simulation until there is nothing to do: no task, and no timer to wait for.
    /// Returns how many steps that took. Nobody may wait then: work that was announced (a coroutine, a work
    /// guard) and has not ended is a failure, as is each failure in a step; then the exception that leaves
    /// this ends the test.
    std::size_t run();
    /// The same for that much virtual time, and somebody may wait after it.
    template <class Rep, class Period>
    std::size_t run_for(const std::chrono::duration<Rep, Period>& length) {
        return run_for_ns(std::chrono::nanoseconds(sys::bounded(length)).count());
    }

    /// Abandons what is queued, and refuses what comes: futures report operation_canceled.
    void stop() noexcept;
    /// Returns whether the context has stopped: it refuses tasks.
    [[nodiscard]] bool is_stopped() const noexcept { return refuses_tasks(); }

    /// No faults from now on: what has been accepted must get through. So it is also when the faults that the
    /// seed has drawn are used up.
    void end_faults() noexcept;

    /// Since the beginning of the simulation.
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

    const std::unique_ptr<sim::simulation> own_; // of the first context, but in explore
    sim::simulation& world_;
    const char* const name_;
    const std::unique_ptr<sim::sim_role> role_;
    const std::uint32_t line_; // 0: no order
    alarm_clock* alarm_ = nullptr;
    std::int64_t work_ = 0;
    unsigned inside_ = 0;                // steps
    sys::atomic<std::uint32_t> gate_{0}; // 1: stopped
};

/// A cheap, copyable handle; equal if the context is the same. Its operations are those of task_sink. With
/// the fault `allocation` they throw std::bad_alloc at times.
class sim_context::executor_type : public task_sink<executor_type> {
public:
    [[nodiscard]] sim_context& context() const noexcept { return *context_; }
    friend bool operator==(const executor_type&, const executor_type&) = default;

    void on_work_started() const noexcept { ++context_->work_; }
    void on_work_finished() const noexcept { --context_->work_; }
    /// Whether the innermost step that runs is one of this context.
    [[nodiscard]] bool running_in_this_thread() const noexcept;

    /// As that of task_sink, and a place where the seed may have an allocation fail.
    template <class F, class Allocator = std::allocator<void>>
    bool post(F&& f, const Allocator& allocator = {}) const {
        sim::allocation_point();
        return task_sink<executor_type>::post(std::forward<F>(f), allocator);
    }
    /// The same of submit().
    template <class F, class... Args>
    auto submit(F&& f, Args&&... args) const {
        sim::allocation_point();
        return task_sink<executor_type>::submit(std::forward<F>(f), std::forward<Args>(args)...);
    }

    // ---- for task_sink

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
