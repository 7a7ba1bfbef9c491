#include <lab/harness/cell_process.hpp>
#include <lab/harness/registry.hpp>
#include <lab/harness/system.hpp>

#include <exception>
#include <nlohmann/json.hpp>

namespace lab {

std::string to_argument(const cell_request& request) {
    const settings& s = request.asked;
    return nlohmann::json{{"experiment", request.experiment},
                          {"implementation", request.implementation},
                          {"report_descriptor", request.report_descriptor},
                          {"variant", s.variant},
                          {"scale", static_cast<int>(s.scale)},
                          {"workers", s.workers},
                          {"repetitions", s.repetitions},
                          {"round", s.round},
                          {"pinned", s.pinned},
                          {"turns_per_us", s.turns_per_us},
                          {"input", s.input}}
        .dump();
}

int run_cell(const std::string& argument) {
    const nlohmann::json j = nlohmann::json::parse(argument);
    settings s;
    s.variant = j.at("variant");
    s.scale = static_cast<scale>(j.at("scale").get<int>());
    s.workers = j.at("workers");
    s.repetitions = j.at("repetitions");
    s.round = j.at("round");
    s.pinned = j.at("pinned");
    s.turns_per_us = j.at("turns_per_us");
    s.input = j.at("input");
    const int report = open_report(j.at("report_descriptor"));
    cell c(s, report);
    const std::string experiment = j.at("experiment");
    const std::string name = j.at("implementation");
    for (const implementation& i : implementations()) {
        if (i.experiment != experiment || i.name != name || !i.run) continue;
        try {
            i.run(c);
        } catch (const std::exception& e) {
            c.fail(std::string("threw: ") + e.what());
        }
        return 0;
    }
    c.fail("this executable has no such cell");
}

} // namespace lab
