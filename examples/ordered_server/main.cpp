// Serves until SIGINT or SIGTERM; then answers what it has accepted, and ends. A second signal ends it at
// once.
#include <ordered_server/tcp_server.hpp>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>

namespace {

template <class Number>
void read(std::string_view word, Number& into) {
    const char* const end = word.data() + word.size();
    const auto [last, wrong] = std::from_chars(word.data(), end, into);
    if (wrong != std::errc() || last != end)
        throw std::invalid_argument("'" + std::string(word) + "' is no such number");
}

ordered::options read_options(int count, char** words, std::string& record) {
    ordered::options chosen;
    for (int i = 1; i < count; i += 2) {
        const std::string_view name = words[i];
        const std::string_view word = i + 1 < count ? words[i + 1] : "";
        if (name == "--address")
            chosen.address = word;
        else if (name == "--port")
            read(word, chosen.port);
        else if (name == "--metrics-port")
            read(word, chosen.metrics_port);
        else if (name == "--threads")
            read(word, chosen.threads);
        else if (name == "--record" && !word.empty())
            record = word;
        else
            throw std::invalid_argument(
                "options: --address A, --port N, --metrics-port N, --threads N, --record FILE");
    }
    return chosen;
}

} // namespace

int main(int count, char** words) {
    try {
        std::string record;
        ordered::options chosen = read_options(count, words, record);
        std::optional<ekiden::request_log> log;
        std::ofstream trace;
        if (!record.empty()) {
            trace.open(record, std::ios::trunc);
            if (!trace) throw std::invalid_argument("--record: '" + record + "' cannot be written");
            chosen.log = &log.emplace();
            chosen.limit.work_on_the_spot = -1; // all are handed over, and so recorded
        }
        ordered::tcp_server server(chosen);
        server.stop_on_signals();
        std::cout << "serving on port " << server.port() << ", metrics on " << server.metrics_port()
                  << std::endl;
        server.run();
        std::cout << server.count().replies << " requests answered" << std::endl;
        if (!log) return EXIT_SUCCESS;
        const auto found = log->write_csv(trace);
        std::cout << found.written << " requests recorded, " << found.unfinished << " refused or not ended, "
                  << found.lost << " lost" << std::endl;
        if (!trace.flush())
            throw std::runtime_error("--record: '" + record + "' cannot be written to its end");
        return EXIT_SUCCESS;
    } catch (const std::exception& e) {
        std::cerr << "ordered_server: " << e.what() << '\n';
        return EXIT_FAILURE;
    }
}
