/// Defines EKIDEN_MODEL, check::that and check::choose, for models of a program's own lock-free code.
///
/// Part: check. Used by: programs of models, which link with ekiden::check. For an example, see
/// docs/check-your-own.md.
#pragma once

#if !defined(EKIDEN_CHECKING)
#error                                                                                                       \
    "models are built with the checker: ekiden_add_model() in CMake, which find_package(ekiden COMPONENTS check) brings"
#endif

#include <check/engine/model.hpp>
