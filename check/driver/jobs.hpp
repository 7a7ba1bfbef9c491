/// Runs jobs in child processes, a few at a time.
///
/// Part: check (driver). A model that brings its process down loses nothing but its own result.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace ekiden::check {

/// Runs `job(i)` for each i in [0, count) in a child process, `width` at a time, and calls `done(i, text)`
/// here with what the job returned, in the order in which they end. `text` is empty if the child died.
void run_jobs(std::size_t count, unsigned width, const std::function<std::string(std::size_t)>& job,
              const std::function<void(std::size_t, const std::string&)>& done);

} // namespace ekiden::check
