/// A mutex with typed states and operations, whose transition table the compiler checks.
///
/// Part: sync. Used by: users. A state_mutex is a typed interface of state_lock. A waiting thread waits for
/// certain states, and does not evaluate a condition. A thread that enters names an operation, and waits
/// until the table allows the operation to begin in the current state. A thread that leaves names the next
/// state.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sync/state_table.hpp>
#include <ekiden/sys/contract.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The classifier type for a table that does not refine another table.
struct no_classifier {};

/// A mutex with states. An operation can begin only in certain states, and waits for one of these states.
///
/// `Table` is a constant of type state_table or refined_table. `Classifier` is the type of a noexcept
/// function object. If `Table` is a refined table, a thread that leaves may name a state of the parent table
/// or of another ancestor. The mutex then calls the classifier inside the lock, with this state as the
/// argument. The classifier returns the part of its argument that becomes the next state of the mutex.
///
/// Thread safety: all members may be called concurrently.
/// Ordering: everything that a thread does before it leaves the mutex happens before the next thread enters.
/// Initialization: constant.
template <auto Table, class Classifier = no_classifier>
class state_mutex {
    using table = decltype(Table);

public:
    /// The type of the states of the table.
    using state = typename table::state;
    /// The initial state.
    static constexpr state initial = Table.initial;

private:
    static_assert(enumerator_count<state>() <= state_lock::max_states,
                  "state_mutex: the table has more than 63 states");
    static_assert(
        ekiden::has_exact_splits(Table),
        "state_mutex: a refined table must make each state part of exactly one state of its parent");
    static_assert(ekiden::is_fully_reachable(Table),
                  "state_mutex: a state cannot be reached from the initial one");
    static_assert(ekiden::has_no_dead_end(Table), "state_mutex: in some state no operation can ever begin");

    template <auto Op>
    static consteval bool has_operation() noexcept {
        if constexpr (requires { Table.from(Op); })
            return Table.from(Op).bits != 0;
        else
            return false;
    }
    template <auto Op>
    static consteval state_lock::mask entry() noexcept {
        static_assert(has_operation<Op>(), "state_mutex: the transition table has no such operation");
        if constexpr (has_operation<Op>())
            return Table.from(Op).bits;
        else
            return 0;
    }
    template <auto Op, auto To>
    static consteval bool may_end_in() noexcept {
        for (std::size_t i = 0; i < enumerator_count<state>(); ++i) {
            for (std::size_t k = 0; k < enumerator_count<state>(); ++k) {
                if (Table.is_part(static_cast<state>(k), To)
                    && Table.is_allowed(Op, static_cast<state>(i), static_cast<state>(k)))
                    return true;
            }
        }
        return false;
    }

public:
    constexpr state_mutex() noexcept : lock_({static_cast<std::uint32_t>(Table.initial), 0}, rules) {}
    /// Constructs a mutex with a refined table. The classifier may refer to the data that the mutex guards.
    constexpr explicit state_mutex(Classifier classifier) noexcept
        : lock_({static_cast<std::uint32_t>(Table.initial), 0}, rules), classifier_(std::move(classifier)) {}

    /// A guard. While the guard exists, its owner is inside the mutex and performs the operation `Op`. The
    /// owner must call leave() with the next state. If an exception destroys the guard before leave(), the
    /// destructor of the guard leaves the mutex. The destructor sets the state `Unwind`, which is a template
    /// argument of enter(). If enter() was called without `Unwind`, the state of the mutex is unchanged. If
    /// the guard is destroyed without an exception before leave(), the program ends with a message.
    template <auto Op>
    class [[nodiscard("the guard is what is inside the mutex")]] guard {
    public:
        guard(guard&& other) noexcept
            : mutex_(std::exchange(other.mutex_, nullptr)), entered_(other.entered_), unwind_(other.unwind_),
              exceptions_(other.exceptions_) {}
        guard& operator=(guard&&) = delete;
        ~guard() {
            if (mutex_ == nullptr) return;
            if (std::uncaught_exceptions() <= exceptions_)
                sys::contract_broken(
                    "state_mutex: a guard was destroyed without having been told the next state");
            mutex_->exit(unwind_);
        }

        /// Returns the state that the mutex had when the owner of this guard entered.
        [[nodiscard]] state entered_in() const noexcept { return entered_; }

        /// Leaves the mutex and sets the state `To`. `To` is a state of the table. If the table is refined,
        /// `To` may also be a state of an ancestor.
        template <auto To>
        void leave() {
            static_assert(may_end_in<Op, To>(), "state_mutex: the transition table has no such transition");
            leave(To);
        }
        /// Leaves the mutex and sets the state `to`. The program ends with a message if the table does not
        /// allow `to`.
        template <class AnyState>
        void leave(AnyState to) {
            std::exchange(mutex_, nullptr)->template exit_checked<Op>(entered_, to);
        }

    private:
        friend class state_mutex;
        guard(state_mutex& mutex, std::optional<state> unwind) noexcept
            : mutex_(&mutex), entered_(mutex.now()), unwind_(unwind.value_or(entered_)) {}
        guard(state_mutex& mutex, int exceptions) noexcept : guard(mutex, std::nullopt) {
            exceptions_ = exceptions;
        }

        state_mutex* mutex_;
        state entered_;
        state unwind_;
        int exceptions_ = std::uncaught_exceptions();
    };

    /// Enters the mutex for the operation `Op`. Waits until `Op` may begin. Returns the guard. The optional
    /// template argument `Unwind` is a state in which `Op` may end. If an exception destroys the guard, the
    /// destructor of the guard leaves the mutex and sets the state `Unwind`. All functions below that return
    /// a guard also have the template argument `Unwind`.
    template <auto Op, state... Unwind>
    guard<Op> enter() noexcept {
        lock_.enter(entry<Op>());
        return entered<Op, Unwind...>();
    }
    /// Enters the mutex for the operation `Op`. Gives up when `limit` is reached. Returns an empty optional
    /// if the limit was reached first.
    template <auto Op, state... Unwind>
    [[nodiscard]] std::optional<guard<Op>> enter(const wait_limit& limit) noexcept {
        if (!lock_.enter(entry<Op>(), limit)) return std::nullopt;
        return entered<Op, Unwind...>();
    }
    /// Enters the mutex for `Op` like enter(limit), where the limit is a duration.
    template <auto Op, state... Unwind>
    [[nodiscard]] std::optional<guard<Op>> enter_for(const wait_duration& duration) {
        return enter<Op, Unwind...>(duration);
    }
    /// Enters the mutex for `Op` like enter(limit), where the limit is a deadline.
    template <auto Op, state... Unwind>
    [[nodiscard]] std::optional<guard<Op>> enter_until(const wait_deadline& deadline) {
        return enter<Op, Unwind...>(deadline);
    }
    /// Enters the mutex for the operation `Op`, without waiting. Returns an empty optional if a thread is
    /// inside, or if `Op` cannot begin in the current state.
    template <auto Op, state... Unwind>
    [[nodiscard]] std::optional<guard<Op>> try_enter() noexcept {
        if (!lock_.try_enter(entry<Op>())) return std::nullopt;
        return entered<Op, Unwind...>();
    }

    /// Waits until `Op` may begin. Then runs `section(state)` inside the mutex. Leaves the mutex and sets the
    /// state that the section returns. If the caller has to wait, the thread that sets a state in which `Op`
    /// may begin runs the section. The section must be short and must not use this mutex. If the section
    /// throws, the state is unchanged, and run() rethrows the exception.
    template <auto Op, class Section>
    void run(Section&& section) {
        (void)run<Op>(wait_limit(), std::forward<Section>(section));
    }
    /// Runs `section(state)` like run(section). Gives up when `limit` is reached. Returns whether the section
    /// has run. If the result is false, the section has not run and will not run.
    template <auto Op, class Section>
    [[nodiscard]] bool run(const wait_limit& limit, Section&& section) {
        std::exception_ptr error;
        const bool is_done = lock_.run(
            entry<Op>(),
            [&](state_value value) noexcept {
                const auto before = static_cast<state>(value.state);
                state after = before;
                try {
                    after = checked<Op>(before, section(before));
                } catch (...) {
                    error = std::current_exception();
                }
                return state_value{static_cast<std::uint32_t>(after), 0};
            },
            conduct::completes, limit);
        if (error) std::rethrow_exception(std::move(error));
        return is_done;
    }
    /// Runs `section(state)` like run(limit, section), where the limit is a duration.
    template <auto Op, class Section>
    [[nodiscard]] bool run_for(const wait_duration& duration, Section&& section) {
        return run<Op>(duration, std::forward<Section>(section));
    }
    /// Runs `section(state)` like run(limit, section), where the limit is a deadline.
    template <auto Op, class Section>
    [[nodiscard]] bool run_until(const wait_deadline& deadline, Section&& section) {
        return run<Op>(deadline, std::forward<Section>(section));
    }

private:
    friend struct detail::lock_access;
    [[nodiscard]] state_lock& core() noexcept { return lock_; }
    template <auto Op>
    [[nodiscard]] guard<Op> adopt() noexcept {
        constexpr int less_than_any = -1;
        return guard<Op>(*this, less_than_any);
    }

    template <auto Op, state... Unwind>
    guard<Op> entered() noexcept {
        static_assert(sizeof...(Unwind) <= 1, "state_mutex: an exception leaves with one state");
        static_assert((may_end_in<Op, Unwind>() && ...),
                      "state_mutex: the transition table has no such transition");
        std::optional<state> unwind;
        ((unwind = Unwind), ...);
        return guard<Op>(*this, unwind);
    }

    state now() const noexcept { return static_cast<state>(lock_.value().state); }
    void exit(state next) noexcept { lock_.exit(static_cast<std::uint32_t>(next)); }

    template <auto Op, class AnyState>
    state checked(state before, AnyState to) {
        state next;
        if constexpr (std::is_same_v<AnyState, state>) {
            next = to;
        } else {
            next = classifier_(to);
            if (!Table.is_part(next, to))
                sys::contract_broken(
                    "state_mutex: the classifier returned a state that is no part of the one named");
        }
        if (!Table.is_allowed(Op, before, next))
            sys::contract_broken("state_mutex: the transition table has no such transition");
        return next;
    }
    template <auto Op, class AnyState>
    void exit_checked(state before, AnyState to) {
        exit(checked<Op>(before, to));
    }

    static constexpr state_rules rules{.name = "a state_mutex"};

    state_lock lock_;
    [[no_unique_address]] Classifier classifier_{};
};

} // namespace ekiden::inline EKIDEN_ABI
