#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/openmp.hpp>

namespace lab::granularity {
namespace {

const bool added = peers::add_openmp("granularity", &run<peers::openmp>,
                                     "the producer is a member of the team", true, "team");

} // namespace
} // namespace lab::granularity
