#include <lab/experiments/io-models/rows.hpp>
#include <lab/peers/ekiden_executors.hpp>

namespace lab::io_models {
namespace {

const bool added = add_rows<peers::ekiden_executors>();

} // namespace
} // namespace lab::io_models
