#include <lab/experiments/allocations/allocations.hpp>
#include <lab/peers/ekiden.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::ekiden>("allocations", &run<peers::ekiden>);

} // namespace
} // namespace lab::allocations
