/// EKIDEN_MUTANT of the checking build. The macro is true while the checker tries the mutant of that name.
///
/// Part: check (engine). Included by src/ekiden/sys/mutant.hpp when EKIDEN_CHECKING is set.
#pragma once

#include <check/engine/access.hpp>

#define EKIDEN_MUTANT(name) (::ekiden::check::mutant_active(#name))
