"""Conan 2 recipe. `conan create packaging/conan` builds the package from this tree, and the program in test_package with it."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class Ekiden(ConanFile):
    name = "ekiden"
    description = "Requests from many threads, run fast, in the order and under the conditions that the program states"
    license = "BSL-1.0"
    topics = ("concurrency", "thread-pool", "executor", "coroutine", "lock-free", "model-checker")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], "checker": [True, False]}
    default_options = {"shared": False, "fPIC": True, "checker": False}
    implements = ["auto_shared_fpic"]

    @property
    def _tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        self.version = re.search(r"project\(ekiden VERSION ([\d.]+)", load(self, os.path.join(self._tree, "CMakeLists.txt")))[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "src/*", "check/*", "tools/warnings.cmake"):
            copy(self, pattern, self._tree, self.export_sources_folder)

    def requirements(self):
        if self.options.checker:
            self.requires("cli11/[>=2.2 <3]", visible=False)

    def validate(self):
        check_min_cppstd(self, 20)
        system = str(self.settings.os)
        if system not in ("Linux", "Windows", "Macos"):
            raise ConanInvalidConfiguration(f"ekiden does not run on {system}, but on Linux, Windows and macOS")
        if system == "Windows" and (self.options.shared or self.settings.compiler == "msvc"):
            raise ConanInvalidConfiguration("on Windows, ekiden is a static library and is compiled by MinGW-w64")
        if self.options.checker and system != "Linux":
            raise ConanInvalidConfiguration("the model checker needs Linux")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["EKIDEN_CHECKER"] = bool(self.options.checker)
        toolchain.cache_variables["EKIDEN_POSTGRES"] = False
        toolchain.cache_variables["EKIDEN_KAFKA"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        # The package's own description for CMake, which knows ekiden::check and ekiden_add_model() as well.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "ekiden")]
        self.cpp_info.libs = ["ekiden"]
        if self.settings.os == "Linux":
            self.cpp_info.system_libs = ["pthread"]
        elif self.settings.os == "Windows":
            self.cpp_info.system_libs = ["synchronization"]
