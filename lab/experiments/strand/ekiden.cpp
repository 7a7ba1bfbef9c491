#include <lab/experiments/strand/strand.hpp>
#include <lab/peers/ekiden_executors.hpp>

namespace lab::strand {
namespace {

const bool added = peers::add_row<peers::ekiden_executors>("strand", &run<peers::ekiden_executors>);

} // namespace
} // namespace lab::strand
