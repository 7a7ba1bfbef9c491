// The ordered server with one of four ways to run requests: ekiden-lab-server MODEL WORKERS ON_THE_SPOT.
// Prints its port, and serves until SIGTERM. Parser, connections and limits are the same for all.
#include "desks.hpp"
#include <ordered_server/tcp_server.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>

namespace {

ordered::desk_maker maker(const std::string& model) {
    if (model == "lanes" || model == "single") return ordered::make_lane_desk;
    if (model == "strand-per-key") return lab::server::make_strand_desk;
    if (model == "global-mutex") return lab::server::make_mutex_desk;
    throw std::invalid_argument("there is no model '" + model + "'");
}

} // namespace

int main(int count, char** words) {
    try {
        if (count != 4) throw std::invalid_argument("MODEL WORKERS ON_THE_SPOT");
        const std::string model = words[1];
        ordered::options chosen;
        chosen.port = chosen.metrics_port = 0;
        chosen.threads = static_cast<unsigned>(std::stoul(words[2]));
        // With one thread, the network thread runs everything itself.
        chosen.limit.work_on_the_spot =
            model == "single" ? std::numeric_limits<std::int64_t>::max() : std::stoll(words[3]);
        ordered::tcp_server server(chosen, maker(model));
        server.stop_on_signals();
        std::cout << server.port() << std::endl;
        server.run();
        return EXIT_SUCCESS;
    } catch (const std::exception& e) {
        std::cerr << "ekiden-lab-server: " << e.what() << '\n';
        return EXIT_FAILURE;
    }
}
