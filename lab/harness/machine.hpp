/// The properties of the machine and the build that a reader needs to judge the figures.
///
/// Used by: the driver.
#pragma once

#include <lab/harness/cell.hpp>

#include <nlohmann/json.hpp>
#include <string>

namespace lab {

/// Returns processor, usable cores, kernel, compiler and flags, governor, date, and the versions of the
/// peers. Except in a smoke run, also measures for one second how much of the machine other programs use.
/// Unknown values are null.
[[nodiscard]] nlohmann::json describe_machine(scale how);

/// Returns the current date and time in the form 2026-01-31T23:59:59Z.
[[nodiscard]] std::string date_now();

/// Returns the name of the results file.
[[nodiscard]] std::string host_name();

/// Returns how many threads can run at once: the affinity mask, limited by the control group's CPU quota.
[[nodiscard]] unsigned usable_cores();

} // namespace lab
