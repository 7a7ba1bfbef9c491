#include <lab/experiments/latency/latency.hpp>
#include <lab/peers/openmp.hpp>

namespace lab::latency {
namespace {

const bool added =
    peers::add_openmp("latency", &run<peers::openmp>, "the waiting thread runs the task itself", false);

} // namespace
} // namespace lab::latency
