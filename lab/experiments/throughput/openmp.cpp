#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/openmp.hpp>

namespace lab::throughput {
namespace {

const bool added =
    peers::add_openmp("throughput", &run<peers::openmp>, "the producer is a member of the team");

} // namespace
} // namespace lab::throughput
