#include <lab/experiments/io-models/rows.hpp>
#include <lab/peers/boost_asio_executors.hpp>

namespace lab::io_models {
namespace {

const bool added = add_rows<peers::boost_asio_executors>();

} // namespace
} // namespace lab::io_models
