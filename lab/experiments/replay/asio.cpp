#include <lab/experiments/replay/models.hpp>
#include <lab/peers/asio.hpp>

namespace lab::replay {
namespace {

const bool added =
    add_model<single_consumer<peers::asio>>("asio-single-consumer", "Asio, one thread", 20)
    && add_model<strand_per_key<peers::asio>>("asio-strand-per-key", "Asio, strand per key", 21)
    && add_model<context_per_thread<peers::asio>>("asio-context-per-thread", "Asio, context per thread", 22)
    && add_model<shared_context<peers::asio>>("asio-shared-context", "Asio, shared context", 23)
    && add_model<half_sync<peers::asio>>("asio-half-sync", "Asio, half-sync", 24);

} // namespace
} // namespace lab::replay
