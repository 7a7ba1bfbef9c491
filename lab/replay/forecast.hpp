/// Predicts each model on another number of processors. Also predicts the points that were measured on this
/// machine, to show the error.
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

/// A model at one rate, as measured. The figures are medians.
struct measured_point {
    std::string model;
    double rate = 0; // requests per second; 0: as fast as possible
    std::size_t requests = 0;
    std::map<std::string, double> figures;
};

/// Returns the costs of a model, from its run as fast as possible (figures_of(), measure_idle()) and the mean
/// work of its requests. The overhead is the processor time that is neither work nor posting. The time to
/// wake is the delay of an empty request that finds all threads asleep, without these costs.
[[nodiscard]] costs costs_of(const std::map<std::string, double>& fastest, double mean_work_us);

/// How to predict points that were not measured.
struct other_machine {
    unsigned cores = 1;         // processors for the models; the clients have one more
    double own_rate = 0;        // the rate of the trace; twice this rate is also predicted
    std::vector<double> shares; // rates, as shares of each model's new capacity
    std::function<std::size_t(double rate)> requests_at;
};

/// Returns {"costs": {model: ...}, "predicted": [...]}. It has every measured point on the machine `here`,
/// with the measurement and the quotient of both. Then it has each model on `other`. Models without a run as
/// fast as possible are omitted. `goes_on` is called before each point. After it returns false, no point
/// follows.
[[nodiscard]] nlohmann::json forecast(const request_trace& trace, const std::vector<measured_point>& measured,
                                      const virtual_machine& here, const other_machine& other,
                                      const std::function<bool()>& goes_on);

/// Describes the errors of the predictions, one line for each figure.
[[nodiscard]] std::string describe_errors(const nlohmann::json& predicted);

} // namespace lab::replay
