/// The memory that the process holds.
///
/// Used by: lanes, replay, timers.
#pragma once

namespace lab {

/// Returns the resident bytes. 0 if the system does not say.
[[nodiscard]] double resident_bytes();

/// Resets peak_resident_bytes(), if the system allows that.
void forget_peak_resident_bytes();

/// Returns the largest number of resident bytes so far. 0 if the system does not say.
[[nodiscard]] double peak_resident_bytes();

} // namespace lab
