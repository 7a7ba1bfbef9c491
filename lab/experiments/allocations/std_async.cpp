#include <lab/experiments/allocations/allocations.hpp>
#include <lab/peers/std_async.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::std_async>("allocations", &run<peers::std_async>);

} // namespace
} // namespace lab::allocations
