/// Tells the checker about reference counts of the standard library. Everything that an owner of a
/// std::shared_ptr did before its release happens before the destruction by the last owner.
///
/// Part: check (engine). The build includes this header first in each source file of a program of models
/// (-include). libstdc++ calls the first macro before it decrements a count. It calls the second macro when
/// it has seen the count become zero. The chapter "Data Race Hunting" of the manual of libstdc++ explains
/// these macros.
#pragma once

namespace ekiden::check {

/// Called before the calling thread decrements the count at `at`.
void count_released(const volatile void* at) noexcept;
/// Called after the calling thread has decremented the count to zero.
void count_is_zero(const volatile void* at) noexcept;

} // namespace ekiden::check

#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_BEFORE(A) ::ekiden::check::count_released(A)
#define _GLIBCXX_SYNCHRONIZATION_HAPPENS_AFTER(A) ::ekiden::check::count_is_zero(A)
