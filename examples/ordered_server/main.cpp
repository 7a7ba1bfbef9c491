// Serves until SIGINT or SIGTERM. Then answers the accepted requests and ends. A second signal ends it
// immediately.
#include <ordered_server/tcp_server.hpp>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void read(const std::string& word, std::string& into) { into = word; }
template <class Number>
void read(const std::string& word, Number& into) {
    const char* const end = word.data() + word.size();
    const auto [last, wrong] = std::from_chars(word.data(), end, into);
    if (wrong != std::errc() || last != end) throw std::invalid_argument("'" + word + "' is no such number");
}

ordered::options read_options(const std::vector<std::string>& words, std::string& record) {
    ordered::options chosen;
    auto slow_task = chosen.slow_task.count();
    for (std::size_t i = 0; i < words.size(); i += 2) {
        const auto is = [&](const char* name, auto& value) {
            if (words[i] != name || i + 1 == words.size() || words[i + 1].empty()) return false;
            read(words[i + 1], value);
            return true;
        };
        if (!is("--address", chosen.address) && !is("--port", chosen.port)
            && !is("--metrics-port", chosen.metrics_port) && !is("--threads", chosen.threads)
            && !is("--slow-task", slow_task) && !is("--work-on-the-spot", chosen.limit.work_on_the_spot)
            && !is("--record", record))
            throw std::invalid_argument("options: --address A, --port N, --metrics-port N, --threads N, "
                                        "--slow-task MS, --work-on-the-spot N, --record FILE");
    }
    chosen.slow_task = std::chrono::milliseconds(slow_task);
    return chosen;
}

} // namespace

int main(int count, char** words) {
    try {
        std::string record;
        ordered::options chosen = read_options({words + 1, words + count}, record);
        std::optional<ekiden::request_log> log;
        std::ofstream trace;
        if (!record.empty()) {
            trace.open(record, std::ios::trunc);
            if (!trace) throw std::invalid_argument("--record: '" + record + "' cannot be written");
            chosen.log = &log.emplace();
            chosen.limit.work_on_the_spot = -1; // hands all requests over, so that all are recorded
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
