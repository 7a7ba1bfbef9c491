/// The command line of a program of models.
///
/// Part: check (driver). Used by: check/main.cpp, and driver/main.cpp for the models of other programs.
#pragma once

#include <string_view>

namespace ekiden::check {

/// The differences between ekiden's own program of models and those of users.
struct program {
    std::string_view name;
    std::string_view purpose;
    std::string_view sources; ///< mutants are created in this folder of the root and below; empty: everywhere
    std::string_view survivors; ///< a file that explains the mutants that survive; empty if there is none
};

/// Runs the command line and terminates the process. The exit status is 0 if every result is as
/// expected, 1 if not, and 2 for wrong arguments.
[[noreturn]] void run(int argc, char** argv, const program& about);

} // namespace ekiden::check
