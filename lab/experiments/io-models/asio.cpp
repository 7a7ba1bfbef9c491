#include <lab/experiments/io-models/rows.hpp>
#include <lab/peers/asio.hpp>

namespace lab::io_models {
namespace {

const bool added = add_rows<peers::asio>();

} // namespace
} // namespace lab::io_models
