// Where a library that is loaded when a program runs may lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace tilewave::runtime {

/// The file of the program, or of Python's interpreter; empty where the system does not tell (no /proc).
std::filesystem::path program_file();

/// Files to try in turn: the one that `variable` of the environment names, and no other; else `name`, where the system looks for
/// libraries; then `name` in the folders below the site-packages of Python that this code is installed in, such as
/// "nvidia/nccl/lib", as far as it is there; then in `folders`.
std::vector<std::string> library_places(const char* variable, const std::string& name,
                                        const std::vector<std::string>& python_folders,
                                        const std::vector<std::string>& folders);

/// Files of NVRTC, the compiler of CUDA that is called at run time, to try in turn: the one that TILEWAVE_NVRTC names, and no other;
/// else for each of these versions of CUDA the system's, that of NVIDIA's Python package, and the toolkit's in /usr/local/cuda.
std::vector<std::string> nvrtc_places(std::initializer_list<int> versions);

enum class Symbols : std::uint8_t { kOwn, kForAll };  ///< whether libraries opened later see them

/// Opens the first of the files that can be; null, and `why` says why the first could not.
void* open_first(const std::vector<std::string>& files, std::string* why,
                 Symbols symbols = Symbols::kOwn);

}  // namespace tilewave::runtime
