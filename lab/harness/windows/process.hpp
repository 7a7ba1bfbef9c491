/// Starts programs. Used by: the sources of the harness for Windows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>
#include <windows.h>

namespace lab {

/// A program that has been started in its own job. The system ends the job, with all processes that the
/// program has started, when this process ends.
struct started_process {
    HANDLE process = nullptr; // null: not started
    HANDLE job = nullptr;
    DWORD error = 0;
};

/// Starts the program. It inherits the `inherited` handles and no others. The first two are its standard
/// output and its standard error.
[[nodiscard]] started_process start_process(const std::string& program,
                                            const std::vector<std::string>& arguments,
                                            std::vector<HANDLE> inherited);

/// Tells the next child to which handle open_report() shall write.
void set_report_handle(std::uintptr_t handle);

/// Ends all processes of the job and closes the handles.
void end_process(started_process& which);

} // namespace lab
