#include <lab/experiments/strand/strand.hpp>
#include <lab/peers/asio.hpp>

namespace lab::strand {
namespace {

const bool added = peers::add_row<peers::asio>("strand", &run<peers::asio>);

const bool added_unlocked = peers::add_row<peers::asio_unlocked>(
    "strand", &run<peers::asio_unlocked>, "no other thread may use the context", false);

} // namespace
} // namespace lab::strand
