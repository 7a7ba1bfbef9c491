#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/onetbb.hpp>

namespace lab::granularity {
namespace {

const bool added = peers::add_row<peers::onetbb>("granularity", &run<peers::onetbb>);

} // namespace
} // namespace lab::granularity
