/// An executor that runs its functions one at a time, in the order in which they were posted, on another
/// executor.
///
/// Part: execution. Used by: programs. After the strand of the Networking TS (N4771, 13.25); the protocol:
/// strand.md.
#pragma once

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/detail/strand_state.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/queue/task.hpp>

#include <concepts>
#include <cstddef>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A handle of a strand; copies are handles of the same one, and equal. Its operations are those of
/// task_sink.
///
/// What is posted runs one at a time, in the order of the posts; what one function did is visible to the
/// next. dispatch() calls its function at once inside of this strand; if nothing is queued, it goes through
/// the inner executor's dispatch, so it may run on the calling thread too. It calls no other function: what
/// is posted meanwhile is given to the inner executor. After 64 functions, or 100 us, a strand lets others
/// use the inner context, and goes on later. A bulk post is one function here, which makes all calls in
/// order. Posting never waits, and strands share nothing with each other.
///
/// A function that throws: the exception leaves it in the inner context (a pool calls its handler, a loop
/// throws it from run()), and the strand goes on with the next one. While the inner context is paused or
/// stopped, no further function begins. A context that takes no more tasks abandons what is queued here, and
/// what is posted after that is refused as the context refuses it. If the inner executor throws when a strand
/// gives it work, its thread goes on with the functions, also while the context is paused, but not if it
/// takes no more tasks; where that cannot be, in a post or a dispatch, each function that was accepted is
/// abandoned and reported as an exception of a function.
///
/// Any thread may use a handle, several at once; assignment and destruction are not for several at once. The
/// handles may all go, also inside of a function of the strand: what was posted still runs. The inner
/// context outlives them, and what is queued. In the child of a fork() a strand of a pool is of no use: a
/// post throws, as the pool does.
template <class Executor>
class strand : public task_sink<strand<Executor>> {
public:
    using inner_executor_type = Executor;

    /// Constructs a new strand on `inner`. Throws std::bad_alloc.
    template <class E>
        requires(!std::same_as<E, strand>) && std::convertible_to<const E&, Executor>
    explicit strand(const E& inner) : state_(recycler::create<state>(Executor(inner))) {}
    strand(const strand& other) noexcept : task_sink<strand>(other), state_(other.state_) {
        state_->add_handle();
    }
    /// `other` may then only be destroyed or assigned to.
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

    [[nodiscard]] decltype(auto) context() const noexcept { return state_->inner.context(); }
    void on_work_started() const noexcept { state_->inner.on_work_started(); }
    void on_work_finished() const noexcept { state_->inner.on_work_finished(); }

    /// Returns whether the caller is inside of a function that this strand runs.
    [[nodiscard]] bool running_in_this_thread() const noexcept { return serial_scope::is_inside(state_); }

    /// Returns whether both are handles of one strand.
    friend bool operator==(const strand& a, const strand& b) noexcept { return a.state_ == b.state_; }

    /// Calls or posts `f` like task_sink::dispatch(). An idle strand allocates no task for `f` if the caller
    /// is a thread of the inner context.
    template <class F, class Allocator = std::allocator<void>>
    void dispatch(F&& f, const Allocator& allocator = {}) const {
        state* const here = state_; // this handle may be gone when `f` has been called
        if (running_in_this_thread() || !calls_in_place(here->inner) || !here->begin_in_passing())
            return task_sink<strand>::dispatch(std::forward<F>(f), allocator);
        detail::expect_callable_without_arguments<F>();
        struct at_end { // what has come meanwhile is posted
            state* left;
            ~at_end() { left->leave_in_passing(state::how); }
        } const guard{here};
        const serial_scope inside(here);
        refuse_empty<std::decay_t<F>>(f, "dispatch");
        std::decay_t<F> own(std::forward<F>(f));
        static_cast<void>(own());
    }

    // ---- for task_sink

    bool accept(task* given, task_order order) const {
        state* const here = state_; // this handle may be gone when the task can be taken
        if (here->takes_no_more()) [[unlikely]]
            return accept_task(Executor(here->inner), given, order); // which refuses it, in its way
        return !here->enqueue(given) || here->start(state::how, order, given);
    }

    /// One function after the other runs here: a bulk post is one function that makes all calls.
    [[nodiscard]] static constexpr bool runs_one_at_a_time() noexcept { return true; }

    [[nodiscard]] task* continue_with(task* given) const {
        if (running_in_this_thread()) return given;
        state* const here = state_;
        if (here->takes_no_more()) [[unlikely]]
            return accept_task(Executor(here->inner), given, task_order::usual), nullptr;
        if (!here->enqueue(given)) return nullptr;
        return here->start_here(state::how, given);
    }

    void report_unhandled(const char* type) const noexcept { ekiden::report_unhandled(state_->inner, type); }

    /// Returns how many bytes a strand with one handle takes.
    [[nodiscard]] static constexpr std::size_t footprint() noexcept { return sizeof(strand) + sizeof(state); }

private:
    struct state final : strand_state {
        explicit state(const Executor& chosen) noexcept : strand_state(&answer), inner(chosen) {}

        [[nodiscard]] bool takes_no_more() const noexcept {
            return static_cast<const execution_context&>(inner.context()).refuses_tasks();
        }

        /// A copy of the executor does it: when the drain runs, the state may end before this returns.
        static bool schedule(strand_state& self, task_order order) {
            const Executor copied = static_cast<state&>(self).inner;
            return accept_task(copied, &self, order);
        }
        static task* continue_here(strand_state& self) {
            const Executor copied = static_cast<state&>(self).inner;
            return continue_task(copied, &self);
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

/// A handle that ends frees memory at most.
template <class Executor>
inline constexpr bool is_plain_executor<strand<Executor>> = is_plain_executor<Executor>;

/// A strand on an executor.
template <class Executor>
strand(const Executor&) -> strand<Executor>;

} // namespace ekiden::inline EKIDEN_ABI
