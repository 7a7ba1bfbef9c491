/// What programs of the computed machine may call besides the library.
///
/// Part: computed (engine). Used by: the rows and the tests.
#pragma once

#include <cstdint>

namespace ekiden::computed {

/// The calling thread works for `ns` nanoseconds.
void spend(std::uint64_t ns) noexcept;
/// Returns the sum of the times that the cores have run threads, in ns.
[[nodiscard]] std::uint64_t processor_time_ns() noexcept;

} // namespace ekiden::computed
