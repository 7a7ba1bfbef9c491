/// What may go wrong in a simulation.
///
/// Part: sim. Used by: programs' tests; programs, which mark where something may fail.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI::sim {

/// Kinds of faults. A test asks for some; each seed draws which of those are on, and how often they come.
enum class fault : std::uint8_t {
    late_task,  ///< a task that is ready begins later
    late_timer, ///< the handler of a timer begins later
    throwing,   ///< may_throw() throws, may_fail() is true
    ending,     ///< what at_any_time() was given is called in the middle
    allocation, ///< a post to a sim_context, an allocation of sim::allocator, or allocation_point() throws
    link_delay, ///< a message takes longer; those of other connections overtake it
    link_drop,  ///< a message is lost
    link_cut,   ///< a connection breaks
};
/// How many kinds there are.
inline constexpr std::size_t fault_kinds = 8;

/// "late tasks" and so on.
[[nodiscard]] const char* name_of(fault kind) noexcept;

/// Some kinds of faults.
class fault_set {
public:
    constexpr fault_set() noexcept = default;
    constexpr fault_set(std::initializer_list<fault> kinds) noexcept {
        for (const fault kind : kinds) bits_ |= bit(kind);
    }
    /// Every kind.
    [[nodiscard]] static constexpr fault_set all() noexcept { return of_bits((1U << fault_kinds) - 1U); }
    /// The set that bits() of another one stands for.
    [[nodiscard]] static constexpr fault_set of_bits(unsigned bits) noexcept {
        fault_set made;
        made.bits_ = static_cast<std::uint8_t>(bits);
        return made;
    }

    /// Whether the kind is in it.
    [[nodiscard]] constexpr bool has(fault kind) const noexcept { return (bits_ & bit(kind)) != 0; }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
    /// Takes the kind out.
    constexpr void remove(fault kind) noexcept { bits_ = static_cast<std::uint8_t>(bits_ & ~bit(kind)); }
    /// As a number.
    [[nodiscard]] constexpr unsigned bits() const noexcept { return bits_; }

    friend constexpr bool operator==(const fault_set&, const fault_set&) = default;

private:
    static constexpr std::uint8_t bit(fault kind) noexcept {
        return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
    }
    std::uint8_t bits_ = 0;
};

/// What may_throw() throws.
class injected_fault : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The following may stay in a program: outside of a simulation they do nothing, after a look at a word of the
// thread. `what` is shown in the timeline.

/// Throws injected_fault(what) if the seed wants it: the fault `throwing`.
void may_throw(const char* what);
/// True if the seed wants it: the fault `throwing`, for what reports a failure by its result.
[[nodiscard]] bool may_fail(const char* what) noexcept;
/// Throws std::bad_alloc if the seed wants it: the fault `allocation`.
void allocation_point();

/// A std::allocator with an allocation_point().
template <class T>
struct allocator : std::allocator<T> {
    allocator() noexcept = default;
    template <class U>
    allocator(const allocator<U>&) noexcept {} // NOLINT: implicit, as allocators are
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
