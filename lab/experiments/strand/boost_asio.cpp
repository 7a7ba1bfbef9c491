#include <lab/experiments/strand/strand.hpp>
#include <lab/peers/boost_asio_executors.hpp>

namespace lab::strand {
namespace {

const bool added = peers::add_row<peers::boost_asio_executors>("strand", &run<peers::boost_asio_executors>);

} // namespace
} // namespace lab::strand
