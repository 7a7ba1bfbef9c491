/// Places where the model checker can break a protocol on purpose.
///
/// Part: sys. Used by: every part with a protocol that check/ covers. `if (!EKIDEN_MUTANT(skip_notify))
/// notify();` is `if (true)` in a normal build. In the checking build, the condition is true while the
/// checker tries the mutant of that name. Some model must then fail, which shows that the models can detect
/// such a mistake.
#pragma once

#if defined(EKIDEN_CHECKING)
#include <check/engine/mutant.hpp>
#else
#define EKIDEN_MUTANT(name) false
#endif
