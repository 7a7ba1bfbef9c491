#include <check/engine/model.hpp>

#include <algorithm>
#include <tuple>

namespace ekiden::check {
namespace {

std::vector<model>& registered() {
    static std::vector<model> all;
    return all;
}

std::string_view folder_of(std::string_view file) {
    const auto end = file.rfind('/');
    if (end == std::string_view::npos) return {};
    const std::string_view folder = file.substr(0, end);
    return folder.substr(folder.rfind('/') + 1);
}

} // namespace

registration::registration(std::string_view name, void (*body)(), options how, std::string_view root,
                           std::source_location where) {
    how.fails = how.fails || !how.mutant.empty();
    registered().push_back({name, folder_of(where.file_name()), std::move(how), body, root});
}

const std::vector<model>& models() {
    std::vector<model>& all = registered();
    std::sort(all.begin(), all.end(), [](const model& a, const model& b) {
        return std::tie(a.folder, a.name) < std::tie(b.folder, b.name);
    });
    return all;
}

} // namespace ekiden::check
