/// An executor that runs its functions one at a time, in the order in which they were posted, on another
/// executor.
///
/// Part: execution. Used by: programs. Modeled on the strand of the Networking TS (N4771, 13.25). The page
/// strand.md explains the protocol.
#pragma once

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/detail/post_scope.hpp>
#include <ekiden/execution/detail/strand_state.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/mutant.hpp>

#include <concepts>
#include <cstddef>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A handle of a strand. A copy is a handle of the same strand and is equal to the original. A strand has the
/// operations of task_sink.
///
/// Posted functions run one at a time, in the order of the posts. A bulk post counts as one function, which
/// makes all calls in order. A post never waits. Strands share no data with each other.
///
/// If the caller is inside the strand, dispatch() calls its function at once. If the strand is idle,
/// dispatch() calls dispatch() of the inner executor, so the function may run on the calling thread at once.
/// A call of dispatch() runs no other function of the strand. Functions that are posted during the call run
/// later, on the inner executor.
///
/// After 64 functions, or about 100 us, a strand lets other tasks of the inner context run. The strand
/// continues later.
///
/// If a function throws, the inner context handles the exception like an exception of a task. For example, a
/// pool calls its handler, and run() of a loop throws the exception. The strand continues with the next
/// function. While the inner context is paused or stopped, no further function begins. If the inner context
/// accepts no more tasks, the functions that are queued in the strand are abandoned. Later posts fail in the
/// same way as posts to the inner context.
///
/// After a batch, a strand passes its remaining functions to the inner executor. If the inner executor throws
/// an exception after a batch, the current thread runs the remaining functions. This thread continues even
/// while the inner context is paused. This thread stops if the inner context accepts no more tasks. If the
/// inner executor throws during a post or a dispatch, all functions that were accepted earlier are abandoned.
/// For each abandoned function, the strand reports the exception of the inner executor, as if the function
/// had thrown it.
///
/// Thread safety: several threads may use one handle at the same time. Assignment and destruction need
/// exclusive access to the handle.
/// Ordering: everything that one function does happens before the next function of the strand begins.
/// Lifetime: the last handle may be destroyed at any time, even inside a function of the strand. Functions
/// that are still queued when the last handle is destroyed run later. The inner context must outlive the
/// handles and the queued functions. In the child of a fork(), a strand on a pool of the parent cannot be
/// used. In the child, a post to the strand throws the same exception as a post to the pool.
template <class Executor>
class strand : public task_sink<strand<Executor>> {
public:
    using inner_executor_type = Executor;

    /// Constructs a new strand whose functions run on `inner`. Throws std::bad_alloc.
    template <class E>
        requires(!std::same_as<E, strand>) && std::convertible_to<const E&, Executor>
    explicit strand(const E& inner) : state_(recycler::create<state>(Executor(inner))) {}
    /// Constructs a new strand whose functions run on the executor of `context`. Throws std::bad_alloc.
    template <std::derived_from<execution_context> Context>
        requires std::convertible_to<typename Context::executor_type, Executor>
    explicit strand(Context& context) : strand(context.get_executor()) {}
    strand(const strand& other) noexcept : task_sink<strand>(other), state_(other.state_) {
        state_->add_handle();
    }
    /// Moves the handle. Afterwards, `other` may only be destroyed or assigned to.
    strand(strand&& other) noexcept
        : task_sink<strand>(other), state_(std::exchange(other.state_, nullptr)) {}
    strand& operator=(strand other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~strand() {
        if (state_ != nullptr && state_->drop_handle()) recycler::destroy(state_);
    }

    [[nodiscard]] Executor get_inner_executor() const noexcept { return state_->inner; }

    [[nodiscard]] decltype(auto) context() const { return state_->inner.context(); }
    void on_work_started() const noexcept { state_->inner.on_work_started(); }
    void on_work_finished() const noexcept { state_->inner.on_work_finished(); }

    /// Returns whether the caller is inside a function that this strand runs.
    [[nodiscard]] bool running_in_this_thread() const noexcept { return serial_scope::is_inside(state_); }

    /// Returns whether both objects are handles of the same strand.
    friend bool operator==(const strand& a, const strand& b) noexcept { return a.state_ == b.state_; }

    /// Calls or posts `f` like task_sink::dispatch(). If the strand is idle and the caller is a thread of the
    /// inner context, no task is allocated.
    template <class F, class Allocator = std::allocator<void>>
    void dispatch(F&& f, const Allocator& allocator = {}) const {
        state* const here = state_; // `f` may destroy this handle
        if (running_in_this_thread() || !ekiden::calls_in_place(here->inner) || !here->begin_in_passing())
            return task_sink<strand>::dispatch(std::forward<F>(f), allocator);
        detail::expect_callable_without_arguments<F>();
        struct at_end { // schedules the functions that were posted meanwhile
            state* left;
            ~at_end() { left->leave_in_passing(state::how); }
        } const guard{here};
        const serial_scope inside(here);
        ekiden::refuse_empty<std::decay_t<F>>(f, "dispatch");
        std::decay_t<F> own(std::forward<F>(f));
        static_cast<void>(own());
    }

    /// Returns true, because the functions of a strand run one at a time. So post_bulk() posts one function,
    /// which makes all calls.
    [[nodiscard]] static constexpr bool runs_one_at_a_time() noexcept { return true; }

    void report_unhandled(const char* type) const noexcept { ekiden::report_unhandled(state_->inner, type); }

    /// Returns the size of a strand with one handle, in bytes.
    [[nodiscard]] static constexpr std::size_t footprint() noexcept { return sizeof(strand) + sizeof(state); }

private:
    friend struct detail::sink_access;
    struct state;

    bool accept(task* given, task_order order) const {
        state* const here = state_; // once queued, the task may destroy this handle
        return add(here, given, true, [=] { return here->start(state::how, order, given); });
    }

    [[nodiscard]] task* continue_with(task* given) const {
        if (running_in_this_thread()) return given;
        state* const here = state_;
        task* const none = nullptr;
        return add(here, given, none, [=] { return here->start_here(state::how, given); });
    }

    /// Queues a task. If this thread then owns the drain, returns `start()`, and otherwise `queued`. If the
    /// inner context refuses the task, abandons the task and returns a false value.
    template <class Result, class Start>
    [[nodiscard]] static Result add(state* here, task* given, Result queued, Start start) {
        const execution_context& context = here->context_for(given);
        if (context.is_closing()) [[unlikely]]
            return add_in_scope(here, context, given, queued, start);
        trace::detail::moment(trace::kind::queued, given);
        if (role_scope::find(context.id()) != nullptr) return here->enqueue(given) ? start() : queued;
        return here->enqueue_if_busy(given) ? queued : add_in_scope(here, context, given, queued, start);
    }

    /// Does the same in a post_scope. Used if the strand may be idle or the inner context may refuse the
    /// task. Not inline, because the usual case of add() would otherwise be slower by a quarter.
    template <class Result, class Start>
    [[nodiscard]] EKIDEN_NOINLINE static Result add_in_scope(state* here, const execution_context& context,
                                                             task* given, Result queued, Start start) {
        if (context.refuses_tasks()) {
            (void)ekiden::accept_task(Executor(here->inner), given, task_order::usual); // may throw
            return {};
        }
        {
            const post_scope posting(context);
            if (!posting.is_refused() || EKIDEN_MUTANT(strand_posts_although_refused))
                return here->enqueue(given) ? start() : queued;
        }
        given->abandon();
        return {};
    }

    /// Keeps a task in the inner context. The inner context runs its kept tasks one after the other, when it
    /// runs no other tasks. So the kept tasks of a strand run one at a time.
    void keep(task* given) const noexcept
        requires detail::keeping_executor<Executor>
    {
        detail::sink_access::keep(Executor(state_->inner), given);
    }
    template <class F>
    void run_kept(const F& f) const {
        const Executor inner(state_->inner);
        const serial_scope inside(state_);
        detail::sink_access::run_kept(inner, f);
    }

    struct state final : strand_state {
        explicit state(const Executor& chosen) noexcept : strand_state(&answer), inner(chosen) {}

        /// Returns the inner context. If context() of the inner executor throws, abandons `given`.
        [[nodiscard]] const execution_context& context_for(task* given) const {
            owned_task owned(given);
            const execution_context& result = inner.context();
            (void)owned.release();
            return result;
        }

        /// Passes the drain to a copy of the executor, because the drain may destroy the state before this
        /// function returns.
        static bool schedule(strand_state& self, task_order order) {
            const Executor copied = static_cast<state&>(self).inner;
            return ekiden::accept_task(copied, &self, order);
        }
        static task* continue_here(strand_state& self) {
            const Executor copied = static_cast<state&>(self).inner;
            return ekiden::continue_task(copied, &self);
        }
        static void report(strand_state& self) noexcept {
            ekiden::report_unhandled(static_cast<state&>(self).inner, type_description<strand>());
        }
        static void end(strand_state& self) noexcept { recycler::destroy(static_cast<state*>(&self)); }

        static const char* answer(task* drain, task_request request) {
            if (request == task_request::describe) return type_description<strand>();
            auto* const self = static_cast<state*>(drain);
            if (request == task_request::abandon)
                self->abandon(how);
            else
                self->run_batch(how, self->inner.context());
            return nullptr;
        }

        using strand_state::leave_in_passing;
        using strand_state::start;
        using strand_state::start_here;
        static constexpr strand_state::operations how{&schedule, &continue_here, &report, &end};

        Executor inner;
    };

    state* state_;
};

/// The destructor of a strand only frees memory. So is_plain_executor has the same value for a strand as for
/// its inner executor.
template <class Executor>
inline constexpr bool is_plain_executor<strand<Executor>> = is_plain_executor<Executor>;

/// Deduces the type of a strand from the type of its inner executor.
template <class Executor>
strand(const Executor&) -> strand<Executor>;
/// Deduces the type of a strand from the type of a context.
template <std::derived_from<execution_context> Context>
strand(Context&) -> strand<typename Context::executor_type>;

} // namespace ekiden::inline EKIDEN_ABI
