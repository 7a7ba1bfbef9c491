/// sys::fence_light and sys::fence_heavy of the checking build. The two fences give only the ordering that
/// the pair of fences guarantees.
///
/// Part: check (engine). Included by src/ekiden/sys/asymmetric_fence.hpp when EKIDEN_CHECKING is set.
#pragma once

#include <check/engine/access.hpp>
#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// True, because the checker uses the weaker of the two implementations.
inline constexpr bool has_asymmetric_fence = true;

inline void fence_light(std::source_location where = std::source_location::current()) noexcept {
    check::light_fence(where);
}
inline void fence_heavy(std::source_location where = std::source_location::current()) noexcept {
    check::heavy_fence(where);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
