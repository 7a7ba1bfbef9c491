/// The version of the library, and macros for its features.
///
/// Used by: programs.
#pragma once

#include <ekiden/sys/version.hpp>
