/// Runs jobs in child processes, several at a time.
///
/// Part: check (driver). If a model crashes, only its own result is lost.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace ekiden::check {

/// Runs `job(i)` for each i in [0, count) in a child process, `width` at a time. Calls `done(i, text)` in
/// this process with the text that the job returned, in order of completion. `text` is empty if the child
/// died.
void run_jobs(std::size_t count, unsigned width, const std::function<std::string(std::size_t)>& job,
              const std::function<void(std::size_t, const std::string&)>& done);

} // namespace ekiden::check
