// Runs the logic of the Kafka worker with SEEDS seeds, or once with the tape of a report: kafka_seeds [SEEDS
// | TAPE]. Prints the first violation and ends.
#include "consume.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

int main(int count, char** words) {
    try {
        const std::string word = count > 1 ? words[1] : "10000";
        const bool is_tape = word.find(';') != word.npos;
        ekiden::sim::options chosen = sim_kafka::options_of(is_tape ? 1 : std::stoull(word));
        chosen.prints = true;
        if (count > 2) chosen.first = std::stoull(words[2]);
        if (is_tape)
            return ekiden::sim::replay(word, sim_kafka::consume, chosen).is_clean() ? EXIT_SUCCESS
                                                                                    : EXIT_FAILURE;
        const auto begin = std::chrono::steady_clock::now();
        const auto result = ekiden::sim::explore(chosen, sim_kafka::consume);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::printf("%llu seeds, %s; %.0f steps a run, %.1f s\n",
                    static_cast<unsigned long long>(result.runs),
                    result.is_clean() ? "0 violations" : "a violation",
                    static_cast<double>(result.steps) / static_cast<double>(result.runs), took.count());
        for (const auto& [mark, runs] : result.reached)
            std::printf("  %s: %llu\n", mark.c_str(), static_cast<unsigned long long>(runs));
        return result.is_clean() ? EXIT_SUCCESS : EXIT_FAILURE;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kafka_seeds: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
