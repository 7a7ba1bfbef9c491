#include <lab/harness/registry.hpp>
#include <lab/harness/results_file.hpp>
#include <lab/harness/usage.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

namespace lab {
namespace {

using nlohmann::json;

// Figures of different machines, compilers or numbers of workers do not belong on one page. Figures of a
// smoke run are worthless and do not belong beside real ones.
bool comparable(const json& one, const json& other) {
    const auto smoke = [](const json& j) { return j.at("run").at("scale") == "smoke"; };
    const auto same_machine = [&](const char* key) {
        return one.at("machine").at(key) == other.at("machine").at(key);
    };
    return one.at("schema") == other.at("schema") && one.at("workers") == other.at("workers")
           && smoke(one) == smoke(other) && same_machine("host") && same_machine("processor")
           && same_machine("usable_cores") && same_machine("compiler") && same_machine("flags");
}

// Returns the position of the variant in the experiment's list. Variants that no longer exist come last.
std::size_t place(const experiment& e, const json& cell) {
    const auto found = std::find_if(e.variants.begin(), e.variants.end(),
                                    [&](const variant& v) { return cell.at("variant") == v.name; });
    return static_cast<std::size_t>(found - e.variants.begin());
}

} // namespace

results_file::results_file(std::string path, json head) : path_(std::move(path)), head_(std::move(head)) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(path_, none))
        return; // write() reports why another kind of file cannot be used
    try {
        take_over();
    } catch (const json::exception&) { // it is not JSON, or does not have this form
        cells_.clear();
        remark_ = "is of another form";
    }
    if (remark_.empty()) return;
    const std::string aside = path_ + ".old";
    std::filesystem::rename(path_, aside, none);
    remark_ = "the older file '" + path_ + "' " + remark_ + "; it is now '" + aside + "'";
}

void results_file::take_over() {
    std::ifstream file(path_);
    const json older = json::parse(file);
    if (!comparable(head_, older)) {
        remark_ = "was not measured like this run (another form, machine, compiler or number of workers)";
        return;
    }
    for (const json& e : older.at("experiments"))
        cells_[e.at("name")] = e.at("cells").get<std::vector<json>>();
}

void results_file::put(const experiment& e, std::span<const cell_result> cells) {
    described_[e.name] = e;
    std::vector<json>& all = cells_[e.name];
    std::erase_if(all, [&](const json& old) {
        return std::any_of(cells.begin(), cells.end(), [&](const cell_result& c) {
            return old.at("variant") == c.variant && old.at("pinned") == c.pinned;
        });
    });
    for (const cell_result& c : cells) all.push_back(to_json(e, c));
}

json results_file::document() const {
    json all = head_;
    all["experiments"] = json::array();
    for (const experiment& registered : experiments()) {
        const auto found = cells_.find(registered.name);
        if (found == cells_.end()) continue;
        const auto described = described_.find(registered.name);
        const experiment& e = described == described_.end() ? registered : described->second;
        std::vector<json> cells = found->second;
        std::erase_if(cells, [&](const json& c) { return place(e, c) == e.variants.size(); });
        std::stable_sort(cells.begin(), cells.end(), [&](const json& a, const json& b) {
            return std::pair(a.at("pinned").get<bool>(), place(e, a))
                   < std::pair(b.at("pinned").get<bool>(), place(e, b));
        });
        if (cells.empty()) continue;
        experiment shown = e;
        std::erase_if(shown.variants, [&](const variant& v) {
            return std::none_of(cells.begin(), cells.end(),
                                [&](const json& c) { return c.at("variant") == v.name; });
        });
        json j = to_json(shown);
        j["cells"] = std::move(cells);
        all["experiments"].push_back(std::move(j));
    }
    return all;
}

bool results_file::write() {
    const std::string text = document().dump(1) + '\n';
    std::error_code error;
    const std::filesystem::path target(path_);
    if (std::filesystem::exists(target, error) && !std::filesystem::is_regular_file(target, error)) {
        std::cerr << "ekiden-lab: '" << path_ << "' is no regular file, and is left alone\n";
        return false;
    }
    if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
    const std::string unfinished = path_ + ".part";
    if (!error) {
        std::ofstream file(unfinished);
        file << text;
        if (!file.flush()) error = std::error_code(errno, std::generic_category());
    }
    if (!error) std::filesystem::rename(unfinished, target, error);
    if (error) std::cerr << "ekiden-lab: cannot write '" << path_ << "': " << error.message() << '\n';
    return !error;
}

bool results_file::write_if_due() {
    const double now_s = usage_now().wall_s;
    if (now_s < due_s_) return true;
    due_s_ = now_s + 5;
    return write();
}

} // namespace lab
