/// What the model of a program's own lock-free code is written with: EKIDEN_MODEL, check::that,
/// check::choose.
///
/// Part: check. Used by: programs of models, which are linked with ekiden::check. docs/check-your-own.md
/// begins with one.
#pragma once

#if !defined(EKIDEN_CHECKING)
#error                                                                                                       \
    "models are built with the checker: ekiden_add_model() in CMake, which find_package(ekiden COMPONENTS check) brings"
#endif

#include <check/engine/model.hpp>
