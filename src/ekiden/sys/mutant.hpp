/// A macro for places where the model checker can break a protocol on purpose.
///
/// Part: sys. Used by: every part with a protocol that check/ covers. In a normal build, EKIDEN_MUTANT(name)
/// is false, so `if (!EKIDEN_MUTANT(skip_notify)) notify();` always calls notify(). In the checking build,
/// EKIDEN_MUTANT(name) is true while the model checker tries the mutant of that name. At least one model must
/// fail for each mutant. The failure shows that the models can detect the fault of the mutant.
#pragma once

#if defined(EKIDEN_CHECKING)
#include <check/engine/mutant.hpp>
#else
#define EKIDEN_MUTANT(name) false
#endif
