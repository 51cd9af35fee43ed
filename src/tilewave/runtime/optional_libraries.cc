#include "tilewave/runtime/optional_libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tilewave/runtime/library_places.h"

namespace tilewave::runtime {

namespace fs = std::filesystem;

MpiModule load_mpi_module() {
  constexpr const char* kModule = "tilewave_mpi.so";
  std::vector<std::string> places;
  if (const char* named = std::getenv("TILEWAVE_MPI"); named && *named) {
    places = {named};
  } else {
    const fs::path folder = program_file().parent_path();
    for (const fs::path& file :
         {folder / kModule, folder.parent_path() / "lib" / "tilewave" / kModule}) {
      std::error_code ignored;
      // of no folder these would be files of the current directory
      if (!folder.empty() && fs::exists(file, ignored)) places.push_back(file);
    }
    places.emplace_back(kModule);
  }
  MpiModule module;
  module.handle =
      open_first(places, &module.problem, Symbols::kForAll);  // MPI's plugins look for its symbols
  return module;
}

OptionalLibrary find_mpi() {
  const MpiModule module = load_mpi_module();
  if (!module.handle) return {"", module.problem};
  // may be called before MPI is started
  using GetVersion = int (*)(char*, int*);
  const auto get_version =
      reinterpret_cast<GetVersion>(dlsym(module.handle, "MPI_Get_library_version"));
  std::vector<char> text(1 << 14);  // MPICH may fill 8192
  int length = 0;
  if (!get_version || get_version(text.data(), &length) != 0) {
    return {"", "tilewave_mpi.so is linked with an MPI library that does not tell its version"};
  }
  std::string version(text.data(), static_cast<std::size_t>(length));
  return {version.substr(0, version.find_first_of(",\n")), ""};
}

int num_nvidia_gpus() {
  int count = 0;
  std::error_code failed;
  for (fs::directory_iterator at("/proc/driver/nvidia/gpus", failed), end; !failed && at != end;
       at.increment(failed)) {
    ++count;
  }
  return count;
}

std::string cuda_driver_problem() {
  if (void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(library);
    return "";
  }
  return dlerror();
}

}  // namespace tilewave::runtime
