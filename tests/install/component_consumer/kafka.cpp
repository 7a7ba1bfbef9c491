// A program that uses ekiden::kafka without a broker: a bad setting must be refused before the first
// connection.
#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>

#include <stdexcept>
#include <string>

int main() {
    ekiden::thread_pool pool(1);
    try {
        const ekiden::kafka::worker handles({.brokers = "localhost:9092"}, pool.get_executor(),
                                            {.group = "bank", .topic = "requests", .window = 30'000},
                                            [](const ekiden::kafka::request&, ekiden::kafka::reply&) {});
        return 1;
    } catch (const std::invalid_argument& refusal) {
        return std::string(refusal.what()).find("name") != std::string::npos ? 0 : 2;
    }
}
