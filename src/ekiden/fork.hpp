/// Fork-join: parallel calls, loops and algorithms, and groups of tasks.
///
/// Part: fork. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/fork/combinable.hpp>
#include <ekiden/fork/fork_child.hpp>
#include <ekiden/fork/fork_join.hpp>
#include <ekiden/fork/loop_options.hpp>
#include <ekiden/fork/parallel_any_of.hpp>
#include <ekiden/fork/parallel_find.hpp>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/fork/parallel_for_each.hpp>
#include <ekiden/fork/parallel_reduce.hpp>
#include <ekiden/fork/parallel_scan.hpp>
#include <ekiden/fork/parallel_sort.hpp>
#include <ekiden/fork/parallel_stable_sort.hpp>
#include <ekiden/fork/parallel_transform.hpp>
#include <ekiden/fork/task_group.hpp>
