/// The faults that a simulation can inject.
///
/// Part: sim. Used by: tests of programs, programs that mark where a fault may occur.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI::sim {

/// The kinds of faults. A test allows some kinds. Each seed chooses at random which of the allowed kinds are
/// on, and how often each kind occurs.
enum class fault : std::uint8_t {
    late_task,     ///< A ready task begins later.
    late_timer,    ///< The handler of a timer begins later.
    throwing,      ///< may_throw() throws, and may_fail() returns true.
    ending,        ///< An action of at_any_time() is called at an unexpected moment.
    allocation,    ///< A post, sim::allocator or allocation_point() throws std::bad_alloc.
    link_delay,    ///< A message takes longer, so messages of other connections can arrive earlier.
    link_drop,     ///< A message is lost.
    link_cut,      ///< A connection breaks.
    duplicate,     ///< A connection delivers a message twice.
    crash_restart, ///< A process of crash_and_restart() crashes, and starts again later.
};
/// The number of kinds of faults.
inline constexpr std::size_t fault_kinds = 10;

/// Returns the name of a kind, such as "late tasks".
[[nodiscard]] const char* name_of(fault kind) noexcept;

/// A set of kinds of faults.
class fault_set {
public:
    constexpr fault_set() noexcept = default;
    constexpr fault_set(std::initializer_list<fault> kinds) noexcept {
        for (const fault kind : kinds) bits_ = static_cast<std::uint16_t>(bits_ | bit(kind));
    }
    /// Returns the set of all kinds.
    [[nodiscard]] static constexpr fault_set all() noexcept { return of_bits((1U << fault_kinds) - 1U); }
    /// Returns the set for a number that bits() has returned.
    [[nodiscard]] static constexpr fault_set of_bits(unsigned bits) noexcept {
        fault_set made;
        made.bits_ = static_cast<std::uint16_t>(bits);
        return made;
    }

    /// Returns whether the set has the kind.
    [[nodiscard]] constexpr bool has(fault kind) const noexcept { return (bits_ & bit(kind)) != 0; }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
    /// Removes the kind.
    constexpr void remove(fault kind) noexcept { bits_ = static_cast<std::uint16_t>(bits_ & ~bit(kind)); }
    /// Returns the set as a number.
    [[nodiscard]] constexpr unsigned bits() const noexcept { return bits_; }

    friend constexpr bool operator==(const fault_set&, const fault_set&) = default;

private:
    static constexpr std::uint16_t bit(fault kind) noexcept {
        return static_cast<std::uint16_t>(1U << static_cast<unsigned>(kind));
    }
    std::uint16_t bits_ = 0;
};

/// The exception that may_throw() throws.
class injected_fault : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Calls of the following functions may remain in a released program. Outside a simulation, these functions
// only read one thread-local variable. The timeline shows the text `what`.

/// Throws injected_fault(what) if the seed decides to inject the fault `throwing`.
void may_throw(const char* what);
/// Returns true if the seed decides to inject the fault `throwing`. Use may_fail() in functions that report
/// failures by their result.
[[nodiscard]] bool may_fail(const char* what) noexcept;
/// Throws std::bad_alloc if the seed decides to inject the fault `allocation`.
void allocation_point();

/// A std::allocator that calls allocation_point() before each allocation.
template <class T>
struct allocator : std::allocator<T> {
    allocator() noexcept = default;
    template <class U>
    allocator(const allocator<U>&) noexcept {} // NOLINT: implicit, as for all allocators
    [[nodiscard]] T* allocate(std::size_t n) {
        allocation_point();
        return std::allocator<T>::allocate(n);
    }
    template <class U>
    struct rebind {
        using other = allocator<U>;
    };
};

} // namespace ekiden::inline EKIDEN_ABI::sim
