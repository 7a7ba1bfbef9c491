/// What the models of whole pools have in common.
#pragma once

#include <check/engine/model.hpp>

/// With hints all over: loads of the sleepers' state that only decide whether to look closer. What such a
/// load reads too early does no harm, so load buffering is not reported. One old value an execution: the
/// parts' own models have no such bound.
#define POOL_MODEL(name, ...) EKIDEN_MODEL(name, .load_buffering = false, .old_values = 1, __VA_ARGS__)
