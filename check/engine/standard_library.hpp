/// The reference counts of the standard library, as far as the checker must know them. What an owner of a
/// std::shared_ptr did before it released the pointer happens before the destruction by the last owner.
///
/// Part: check (engine). Included first in each source of a program of models (-include). With these two
/// macros, libstdc++ announces that it releases a count, and that it has seen the count become zero ("Data
/// Race Hunting" in its manual).
#pragma once

namespace ekiden::check {

/// The calling thread is about to decrement the count at `at`.
void count_released(const volatile void* at) noexcept;
/// The calling thread has decremented the count to zero.
void count_is_zero(const volatile void* at) noexcept;

} // namespace ekiden::check

#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_BEFORE(A) ::ekiden::check::count_released(A)
#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_AFTER(A) ::ekiden::check::count_is_zero(A)
