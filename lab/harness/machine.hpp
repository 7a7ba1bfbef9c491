/// What a reader must know about the machine and the build to judge the figures.
///
/// Used by: the driver.
#pragma once

#include <lab/harness/cell.hpp>

#include <nlohmann/json.hpp>
#include <string>

namespace lab {

/// Processor, usable cores, kernel, compiler and flags, governor, date, versions of the peers; and, but in a
/// smoke run, how much of it others used in the second that the call takes. What the system does not tell is
/// null.
[[nodiscard]] nlohmann::json describe_machine(scale how);

/// The date and time now, as 2026-01-31T23:59:59Z.
[[nodiscard]] std::string date_now();

/// The name under which results are filed.
[[nodiscard]] std::string host_name();

/// How many threads can run at once: the affinity mask, cut down to the control group's CPU quota.
[[nodiscard]] unsigned usable_cores();

} // namespace lab
