/// The command line of a program of models.
///
/// Part: check (driver). Used by: check/main.cpp, and driver/main.cpp for the models of others.
#pragma once

#include <string_view>

namespace ekiden::check {

/// What differs between ekiden's own program of models and those of others.
struct program {
    std::string_view name;
    std::string_view purpose;
    std::string_view sources;   ///< mutants are made below this folder of the root; empty: everywhere
    std::string_view survivors; ///< the file that explains mutants that survive; empty: there is none
};

/// Does what the arguments ask for and ends the process: 0 if all is as it should be, 1 if something was
/// found, 2 for a mistake in the arguments.
[[noreturn]] void run(int argc, char** argv, const program& about);

} // namespace ekiden::check
