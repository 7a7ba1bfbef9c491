#include <lab/experiments/allocations/allocations.hpp>
#include <lab/peers/openmp.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_openmp("allocations", &run<peers::openmp>);

} // namespace
} // namespace lab::allocations
