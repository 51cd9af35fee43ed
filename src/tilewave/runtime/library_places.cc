#include "tilewave/runtime/library_places.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tilewave::runtime {
namespace {

namespace fs = std::filesystem;

// The file of this code: the program, or the module that Python loaded.
fs::path own_file() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<const void*>(&library_places), &info) != 0;
  const fs::path named = found && info.dli_fname ? info.dli_fname : "";
  std::error_code ignored;
  if (named.extension() == ".so") return fs::canonical(named, ignored);
  return program_file();  // of a program it is how it was called
}

// The site-packages of site-packages/tilewave/_core.so or site-packages/tilewave/bin/tilewave; empty where this code is in no
// Python package, so that a program in /tmp/tilewave takes nothing that somebody else puts into /tmp.
fs::path site_packages() {
  fs::path package = own_file().parent_path();
  if (package.filename() == "bin") package = package.parent_path();
  std::error_code ignored;
  const bool is_package =
      package.filename() == "tilewave" && fs::exists(package / "__init__.py", ignored);
  return is_package ? package.parent_path() : fs::path();
}

}  // namespace

fs::path program_file() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

std::vector<std::string> library_places(const char* variable, const std::string& name,
                                        const std::vector<std::string>& python_folders,
                                        const std::vector<std::string>& folders) {
  const char* path = std::getenv(variable);
  if (path && *path) return {path};
  std::vector<std::string> places = {name};
  const fs::path packages = site_packages();
  for (const std::string& folder : python_folders) {
    const fs::path file = packages / folder / name;
    std::error_code ignored;
    if (!packages.empty() && fs::exists(file, ignored)) places.push_back(file);
  }
  for (const std::string& folder : folders) places.push_back(folder + "/" + name);
  return places;
}

std::vector<std::string> nvrtc_places(std::initializer_list<int> versions) {
  std::vector<std::string> all;
  for (const int version : versions) {
    const std::string number = std::to_string(version);
    for (std::string& file : library_places(
             "TILEWAVE_NVRTC", "libnvrtc.so." + number,
             {"nvidia/cu" + number + "/lib", "nvidia/cuda_nvrtc/lib"}, {"/usr/local/cuda/lib64"})) {
      if (std::find(all.begin(), all.end(), file) == all.end()) all.push_back(std::move(file));
    }
  }
  return all;
}

void* open_first(const std::vector<std::string>& files, std::string* why, Symbols symbols) {
  const int mode = RTLD_NOW | (symbols == Symbols::kForAll ? RTLD_GLOBAL : RTLD_LOCAL);
  why->clear();
  for (const std::string& file : files) {
    if (void* const library = dlopen(file.c_str(), mode)) {
      why->clear();
      return library;
    }
    if (why->empty()) *why = dlerror();
  }
  return nullptr;
}

}  // namespace tilewave::runtime
