/// What each model would do on another number of processors, and how far the same reckoning is from what was
/// measured on this one.
///
/// Used by: replay's command line, for --cores.
#pragma once

#include <lab/replay/predict.hpp>
#include <lab/replay/request_trace.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lab::replay {

/// A model at one rate, as it was measured: the medians of all figures.
struct measured_point {
    std::string model;
    double rate = 0; // requests a second; 0: as fast as possible
    std::size_t requests = 0;
    std::map<std::string, double> figures;
};

/// The costs of a model, of its run as fast as possible (figures_of(), measure_idle()) and the mean work of
/// its requests: what of its processor time was neither work nor posting is its overhead, and what of the
/// delay of an empty request that finds all asleep is none of these is the time to wake.
[[nodiscard]] costs costs_of(const std::map<std::string, double>& fastest, double mean_work_us);

/// How to play points that were not measured.
struct other_machine {
    unsigned cores = 1;         // all are the models'; the clients have one more
    double own_rate = 0;        // of the trace: played also at twice this
    std::vector<double> shares; // of each model's new capacity, as rates
    std::function<std::size_t(double rate)> requests_at;
};

/// {"costs": {model: ...}, "predicted": [...]}: every measured point on the machine `here`, with what was
/// measured and the quotient of both; then each model on `other`. Models without a run as fast as possible
/// are left out. `goes_on` is asked before each point; once it says no, nothing follows.
[[nodiscard]] nlohmann::json forecast(const request_trace& trace, const std::vector<measured_point>& measured,
                                      const virtual_machine& here, const other_machine& other,
                                      const std::function<bool()>& goes_on);

/// How far the predictions of a forecast are from what was measured: a line for each figure.
[[nodiscard]] std::string describe_errors(const nlohmann::json& predicted);

} // namespace lab::replay
