/// Pipelines, and graphs of tasks.
///
/// Part: flow. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/flow/pipeline.hpp>
#include <ekiden/flow/pipeline_stage.hpp>
#include <ekiden/flow/task_graph.hpp>
