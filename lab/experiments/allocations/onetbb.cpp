#include <lab/experiments/allocations/allocations.hpp>
#include <lab/peers/onetbb.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::onetbb>("allocations", &run<peers::onetbb>);

} // namespace
} // namespace lab::allocations
