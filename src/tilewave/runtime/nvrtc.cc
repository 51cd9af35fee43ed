#include "tilewave/runtime/nvrtc.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

#include "tilewave/runtime/library_places.h"

namespace tilewave::runtime::cuda {

namespace {

constexpr int kSuccess = 0;

}  // namespace

std::string Nvrtc::open(std::initializer_list<int> versions) {
  std::string why;
  void* const library = open_first(nvrtc_places(versions), &why);
  if (!library) return why;
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) missing = name;
  };
  find(get_version, "nvrtcVersion");
  find(create, "nvrtcCreateProgram");
  find(destroy, "nvrtcDestroyProgram");
  find(compile_program, "nvrtcCompileProgram");
  find(log_size, "nvrtcGetProgramLogSize");
  find(get_log, "nvrtcGetProgramLog");
  find(binary_size, "nvrtcGetCUBINSize");
  find(get_binary, "nvrtcGetCUBIN");
  return missing.empty() ? "" : "the NVRTC library has no " + missing;
}

const Nvrtc* Nvrtc::load(std::initializer_list<int> versions, std::string* why) {
  static std::mutex mutex;
  static std::map<std::vector<int>, const Nvrtc*> loaded;
  const std::lock_guard lock(mutex);
  const Nvrtc*& known = loaded[versions];
  why->clear();
  if (known) return known;
  auto nvrtc = std::unique_ptr<Nvrtc>(new Nvrtc);
  *why = nvrtc->open(versions);
  if (why->empty()) known = nvrtc.release();
  return known;
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  if (get_version(&major, &minor) != kSuccess) return "?";
  return std::to_string(major) + "." + std::to_string(minor);
}

Nvrtc::Program Nvrtc::compile(const std::string& source, std::span<const SourceFile> files,
                              std::span<const std::string> options) const {
  std::vector<const char*> texts, names, words;
  for (const SourceFile& file : files) names.push_back(file.name), texts.push_back(file.text);
  for (const std::string& option : options) words.push_back(option.c_str());
  Program out;
  Handle program = nullptr;
  if (create(&program, source.c_str(), "program.cu", static_cast<int>(files.size()), texts.data(),
             names.data()) != kSuccess) {
    out.log = "NVRTC takes no program";
    return out;
  }
  const bool compiled =
      compile_program(program, static_cast<int>(words.size()), words.data()) == kSuccess;
  std::size_t size = 0;
  if (log_size(program, &size) == kSuccess && size > 1) {
    out.log.resize(size);
    if (get_log(program, out.log.data()) != kSuccess) out.log.clear();
    while (!out.log.empty() && out.log.back() == '\0') out.log.pop_back();
  }
  if (compiled && binary_size(program, &size) == kSuccess) {
    out.binary.resize(size);
    if (get_binary(program, out.binary.data()) != kSuccess) out.binary.clear();
  }
  if (!compiled && out.log.empty()) out.log = "NVRTC failed without a word";
  (void)destroy(&program);
  return out;
}

}  // namespace tilewave::runtime::cuda
