/// The reference counts of the standard library, which the checker has to know of: what an owner of a
/// std::shared_ptr did before it let go is ordered before the destruction by the last owner.
///
/// Part: check (engine). Included before all else in each source of a program of models (-include). libstdc++
/// says with these two macros where it releases a count and where it has seen that nothing is left ("Data
/// Race Hunting" in its manual).
#pragma once

namespace ekiden::check {

/// The calling thread is about to decrement the count at `at`.
void count_released(const volatile void* at) noexcept;
/// The calling thread has decremented it to zero.
void count_is_zero(const volatile void* at) noexcept;

} // namespace ekiden::check

#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_BEFORE(A) ::ekiden::check::count_released(A)
#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_AFTER(A) ::ekiden::check::count_is_zero(A)
