/// Transition tables. The rows of a table define in which states an operation may begin, and in which states
/// it may end. A transition table is a constant, and the compiler checks it.
///
/// Part: sync. Used by: programs, state_mutex, state_diagram. The tables follow the abstract states of Ohki
/// and Kuno. Ohki and Kuno solve the inheritance anomaly with refined tables. In a refined table, a derived
/// object splits the states of its parent.
#pragma once

#include <ekiden/sync/detail/enumerator.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI {

/// A set of states. A state and a list of states convert implicitly to a set.
template <class State>
struct states {
    static_assert(std::is_enum_v<State>, "states: the states of a table are an enum class");

    std::uint64_t bits = 0; ///< bit i is set if the set contains state i

    constexpr states() = default;
    constexpr states(State one) : states({one}) {}
    constexpr states(std::initializer_list<State> list) {
        for (const State s : list) bits |= bit(s);
    }

    /// Returns whether the set contains the state.
    [[nodiscard]] constexpr bool contains(State s) const noexcept { return (bits & bit(s)) != 0; }
    /// Returns the bit that stands for the state `s`.
    [[nodiscard]] static constexpr std::uint64_t bit(State s) noexcept {
        return std::uint64_t{1} << (static_cast<unsigned>(s) & 63);
    }
};

/// A row of a table. The operation may begin in each state of `from`, and ends in a state of `to`. An
/// operation may have several rows.
template <class State, class Operation>
struct transition {
    Operation operation; ///< the operation of this row
    states<State> from;  ///< the states in which the operation may begin
    states<State> to;    ///< the states in which the operation may end
};

/// A transition table with `Rows` rows. Use a state_table only as a constant. The function make_state_table
/// creates the table and counts the rows.
template <class State, class Operation, std::size_t Rows>
struct state_table {
    using state = State;
    using operation = Operation;

    State initial;
    std::array<transition<State, Operation>, Rows> rows;
    states<State> final_states; ///< the table need not allow any operation in these states

    template <std::size_t N>
    consteval state_table(State start, const transition<State, Operation> (&list)[N],
                          states<State> final = {})
        : initial(start), rows(counted(list)), final_states(final) {}
    /// Constructs a table without rows. A refined table that adds no operation contains such a table.
    consteval explicit state_table(State start)
        requires(Rows == 0)
        : initial(start), rows{}, final_states{} {}

    /// Returns the states in which `op` may begin. Returns an empty set if `op` has no row.
    [[nodiscard]] constexpr states<State> from(Operation op) const noexcept {
        states<State> all;
        for (const auto& row : rows) {
            if (row.operation == op) all.bits |= row.from.bits;
        }
        return all;
    }
    /// Returns whether `op` may lead from `before` to `after`.
    [[nodiscard]] constexpr bool is_allowed(Operation op, State before, State after) const noexcept {
        for (const auto& row : rows) {
            if (row.operation == op && row.from.contains(before) && row.to.contains(after)) return true;
        }
        return false;
    }
    /// Returns whether `s` is the state `whole`. In a refined table, this function also returns true if `s`
    /// is a part of `whole`.
    [[nodiscard]] constexpr bool is_part(State s, State whole) const noexcept { return s == whole; }
    [[nodiscard]] constexpr states<State> parts_of(states<State> set) const noexcept { return set; }
    /// Returns all states that some operation can reach in one step from a state in `set`.
    [[nodiscard]] constexpr states<State> step(states<State> set) const noexcept {
        states<State> next;
        for (const auto& row : rows) {
            if ((row.from.bits & set.bits) != 0) next.bits |= row.to.bits;
        }
        return next;
    }
    /// Returns the states in which some operation may begin.
    [[nodiscard]] constexpr states<State> accepting() const noexcept {
        states<State> all;
        for (const auto& row : rows) all.bits |= row.from.bits;
        return all;
    }
    /// Calls `visit(name, before, after)` for each transition. `name` is the name of the operation, which
    /// leads from the state `before` to the state `after`.
    template <class Visit>
    constexpr void each_edge(Visit visit) const {
        for (const auto& row : rows) {
            for (std::size_t a = 0; a < enumerator_count<State>(); ++a) {
                for (std::size_t b = 0; b < enumerator_count<State>(); ++b) {
                    const auto before = static_cast<State>(a);
                    const auto after = static_cast<State>(b);
                    if (row.from.contains(before) && row.to.contains(after))
                        visit(ekiden::enumerator_name(row.operation), before, after);
                }
            }
        }
    }

    template <std::size_t N>
    static consteval auto counted(const transition<State, Operation> (&list)[N]) {
        static_assert(N == Rows, "state_table: the number of rows is not the one that is declared");
        return std::to_array(list);
    }
};

/// Returns the table with the initial state `initial` and the rows `list`:
///   constexpr auto table =
///       make_state_table<state, op>(state::a, {{op::x, state::a, {state::a, state::b}}, ...});
///
/// `final` is the set of states in which the table need not allow any operation.
template <class State, class Operation, std::size_t Rows>
[[nodiscard]] consteval state_table<State, Operation, Rows>
make_state_table(State initial, const transition<State, Operation> (&list)[Rows], states<State> final = {}) {
    return {initial, list, final};
}

/// A split of one state of the parent table into parts.
template <class Whole, class State>
struct split {
    Whole whole;         ///< a state of the parent table
    states<State> parts; ///< the states of the refined table that are parts of `whole`
};

/// The operation type of a refined table that adds no operations.
enum class no_operation {};

/// A table that splits the states of the table `Parent` into parts, and may add operations. The function
/// make_refined_table creates such a table. If the parent table allows an operation to begin in a state, the
/// refined table allows the operation to begin in every part of this state. When an operation of the parent
/// ends, the classifier of the mutex chooses the part in which the operation ends.
template <auto Parent, class State, class Operation, std::size_t Splits, std::size_t Rows>
struct refined_table {
    using state = State;
    using operation = Operation;
    using whole = typename decltype(Parent)::state;

    State initial;
    std::array<split<whole, State>, Splits> splits;
    state_table<State, Operation, Rows> own_rows; ///< the rows of the operations that this table adds

    /// Returns the states in which `op` may begin. If this table adds `op`, the rows of `op` name these
    /// states. If `op` is an operation of an ancestor table, the ancestor names the states in which `op` may
    /// begin. The result then consists of all parts of these states.
    template <class Op>
    [[nodiscard]] constexpr states<State> from(Op op) const noexcept {
        if constexpr (std::is_same_v<Op, Operation>)
            return own_rows.from(op);
        else
            return parts_of(Parent.from(op));
    }
    template <class Op>
    [[nodiscard]] constexpr bool is_allowed(Op op, State before, State after) const noexcept {
        if constexpr (std::is_same_v<Op, Operation>)
            return own_rows.is_allowed(op, before, after);
        else
            return Parent.is_allowed(op, whole_of(before), whole_of(after));
    }
    /// Returns the parent table's state that has `s` as a part.
    [[nodiscard]] constexpr whole whole_of(State s) const noexcept {
        for (const auto& piece : splits) {
            if (piece.parts.contains(s)) return piece.whole;
        }
        return {};
    }
    template <class Ancestor>
    [[nodiscard]] constexpr bool is_part(State s, Ancestor of) const noexcept {
        if constexpr (std::is_same_v<Ancestor, State>)
            return s == of;
        else
            return Parent.is_part(whole_of(s), of);
    }
    [[nodiscard]] constexpr states<State> parts_of(states<State> set) const noexcept { return set; }
    template <class Ancestor>
    [[nodiscard]] constexpr states<State> parts_of(states<Ancestor> set) const noexcept {
        const states<whole> wholes = Parent.parts_of(set);
        states<State> all;
        for (const auto& piece : splits) {
            if (wholes.contains(piece.whole)) all.bits |= piece.parts.bits;
        }
        return all;
    }
    [[nodiscard]] constexpr states<State> step(states<State> set) const noexcept {
        states<State> next = own_rows.step(set);
        for (const auto& piece : splits) {
            if ((piece.parts.bits & set.bits) != 0)
                next.bits |= parts_of(Parent.step(states<whole>(piece.whole))).bits;
        }
        return next;
    }
    [[nodiscard]] constexpr states<State> accepting() const noexcept {
        states<State> all = parts_of(Parent.accepting());
        all.bits |= own_rows.accepting().bits;
        return all;
    }
    template <class Visit>
    constexpr void each_edge(Visit visit) const {
        Parent.each_edge([&](std::string_view name, whole before, whole after) {
            for (std::size_t a = 0; a < enumerator_count<State>(); ++a) {
                for (std::size_t b = 0; b < enumerator_count<State>(); ++b) {
                    const auto from_part = static_cast<State>(a);
                    const auto to_part = static_cast<State>(b);
                    if (is_part(from_part, before) && is_part(to_part, after))
                        visit(name, from_part, to_part);
                }
            }
        });
        own_rows.each_edge(visit);
    }

    /// Returns whether the splits are exact. In exact splits, each state of the parent has parts, and each
    /// state of this table is part of exactly one state of the parent.
    [[nodiscard]] constexpr bool has_exact_splits() const noexcept {
        std::uint64_t seen = 0;
        std::uint64_t wholes = 0;
        for (const auto& piece : splits) {
            if ((seen & piece.parts.bits) != 0 || piece.parts.bits == 0) return false;
            seen |= piece.parts.bits;
            wholes |= states<whole>::bit(piece.whole);
        }
        return seen == (std::uint64_t{1} << enumerator_count<State>()) - 1
               && wholes == (std::uint64_t{1} << enumerator_count<whole>()) - 1;
    }
};

/// Returns a refined table with the initial state `initial`. `pieces` defines how the table splits the states
/// of `Parent`. `list` has the rows of the operations that the table adds. `final` is the set of states in
/// which the table need not allow any operation.
template <auto Parent, class State, class Operation, std::size_t Splits, std::size_t Rows>
[[nodiscard]] consteval refined_table<Parent, State, Operation, Splits, Rows>
make_refined_table(State initial, const split<typename decltype(Parent)::state, State> (&pieces)[Splits],
                   const transition<State, Operation> (&list)[Rows], states<State> final = {}) {
    return {initial, std::to_array(pieces), {initial, list, final}};
}
/// Returns a refined table that has only the operations of the parent.
template <auto Parent, class State, std::size_t Splits>
[[nodiscard]] consteval auto
make_refined_table(State initial, const split<typename decltype(Parent)::state, State> (&pieces)[Splits]) {
    using own = state_table<State, no_operation, 0>;
    return refined_table<Parent, State, no_operation, Splits, 0>{initial, std::to_array(pieces),
                                                                 own(initial)};
}

/// Returns whether each state of `table` is part of exactly one state of the parent table. Returns true if
/// `table` has no parent.
template <class Table>
[[nodiscard]] constexpr bool has_exact_splits(const Table& table) noexcept {
    if constexpr (requires { table.has_exact_splits(); })
        return table.has_exact_splits();
    else
        return true;
}

/// Returns whether every state of `table` can be reached from its initial state.
template <class Table>
[[nodiscard]] constexpr bool is_fully_reachable(const Table& table) noexcept {
    using state = typename Table::state;
    states<state> reached(table.initial);
    for (std::size_t i = 0; i < enumerator_count<state>(); ++i) reached.bits |= table.step(reached).bits;
    return reached.bits == (std::uint64_t{1} << enumerator_count<state>()) - 1;
}

/// Returns whether `table` allows an operation to begin in each state, except in the final states.
template <class Table>
[[nodiscard]] constexpr bool has_no_dead_end(const Table& table) noexcept {
    std::uint64_t good = table.accepting().bits;
    if constexpr (requires { table.own_rows; })
        good |= table.own_rows.final_states.bits;
    else
        good |= table.final_states.bits;
    return good == (std::uint64_t{1} << enumerator_count<typename Table::state>()) - 1;
}

} // namespace ekiden::inline EKIDEN_ABI
