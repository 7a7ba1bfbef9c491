/// The operations that instrumented atomics, cells, fences and threads pass to the engine.
///
/// Part: check (engine). Used by: the instrumented headers of this folder. Outside an execution, the
/// operations access plain memory. This is the case during static initialization and in the driver.
#pragma once

#include <atomic> // for memory_order only
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

namespace ekiden::check {

using site = std::source_location;
using order = std::memory_order;

[[nodiscard]] constexpr bool acquires(order how) noexcept {
    return how == order::acquire || how == order::acq_rel || how == order::seq_cst || how == order::consume;
}
[[nodiscard]] constexpr bool releases(order how) noexcept {
    return how == order::release || how == order::acq_rel || how == order::seq_cst;
}

enum class arithmetic : std::uint8_t {
    exchange,
    add,
    subtract,
    bit_or,
    bit_and,
    bit_xor,
    add_float,
    subtract_float,
    add_double,
    subtract_double
};
[[nodiscard]] std::uint64_t compute(arithmetic what, std::uint64_t old, std::uint64_t operand) noexcept;

/// Records that the lifetime of the object at `at` begins or ends. An object with constant initialization is
/// registered at its first use.
void born(const void* at, bool is_atomic) noexcept;
void died(const void* at, const site& where) noexcept;

[[nodiscard]] std::uint64_t load(const void* at, unsigned size, order how, const site& where) noexcept;
void store(void* at, unsigned size, std::uint64_t value, order how, const site& where) noexcept;
std::uint64_t modify(void* at, unsigned size, arithmetic what, std::uint64_t operand, order how,
                     const site& where) noexcept;
bool compare_exchange(void* at, unsigned size, std::uint64_t& expected, std::uint64_t desired, order success,
                      order failure, bool weak, const site& where) noexcept;

/// Checks a plain access to a cell. Fails the execution if the access conflicts with an unordered access of
/// another thread. The cell itself reads or writes the data.
void cell_read(const void* at, const site& where) noexcept;
void cell_write(const void* at, const site& where) noexcept;

void thread_fence(order how, const site& where) noexcept;
void light_fence(const site& where) noexcept;
void heavy_fence(const site& where) noexcept;

enum class wait_result : std::uint8_t { unequal, woken, timed_out };

/// Sleeps if the newest value of the object at `at` is `expected`. `deadline` is in ns of the virtual clock,
/// or `never`.
inline constexpr std::uint64_t never = ~std::uint64_t{0};
wait_result wait_on(const void* at, unsigned size, std::uint64_t expected, std::uint64_t deadline,
                    const site& where) noexcept;
int wake(const void* at, unsigned count, const site& where, std::string_view called = "futex_wake") noexcept;

/// Locks or unlocks a mutex. A mutex is a word of 4 bytes that is 0 while the mutex is free. The mutants do
/// not change the memory orders of these functions.
void lock(void* mutex, const site& where) noexcept;
bool try_lock(void* mutex, const site& where) noexcept;
void unlock(void* mutex, const site& where) noexcept;
/// Waits for a condition variable. The thread enters the queue of `condition` before it unlocks `mutex`. The
/// thread locks `mutex` again before the function returns. wake() wakes the waiting thread.
wait_result wait_unlocked(const void* condition, void* mutex, std::uint64_t deadline,
                          const site& where) noexcept;

/// The beginning and the end of a call_once(). `flag` is a word of 4 bytes that is 0 initially.
[[nodiscard]] bool once_begins(void* flag) noexcept; ///< Returns true if the caller must make the call.
void once_ends(void* flag, bool is_done) noexcept;   ///< `is_done` is false if the call threw.

/// Starts `run(argument)` as a new thread of the model and returns its number.
unsigned start_thread(void (*run)(void*), void* argument, const site& where);
void join_thread(unsigned number, const site& where);
[[nodiscard]] unsigned current_thread() noexcept;

/// Called in a loop that waits for a change by another thread. If `may_be_bounded` is true, the loop may also
/// give up.
void spin(bool may_be_bounded, const site& where) noexcept;

/// Returns the virtual time in ns. The virtual time advances when threads spin and when waits time out.
[[nodiscard]] std::uint64_t time_ns() noexcept;

/// Returns the calling thread's object for `key`. `make` creates the object at the first use.
[[nodiscard]] void* thread_local_object(const void* key, std::size_t size, std::size_t alignment,
                                        void (*make)(void*)) noexcept;

/// Returns whether the mutant `name` is switched on. Also registers the name.
[[nodiscard]] bool mutant_active(const char* name) noexcept;

} // namespace ekiden::check
