#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/ekiden.hpp>

namespace lab::granularity {
namespace {

const bool added = peers::add_row<peers::ekiden>("granularity", &run<peers::ekiden>);

} // namespace
} // namespace lab::granularity
