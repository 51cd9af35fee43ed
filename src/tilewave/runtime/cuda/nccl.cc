#include "tilewave/runtime/cuda/nccl.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/runtime/library_places.h"

namespace tilewave::runtime::cuda {
namespace {

// The library's interface, stable through its versions 2.7 and later.
constexpr int kSuccess = 0, kInProgress = 7;
constexpr int kInt8 = 0;
struct UniqueId {
  char bytes[128];
};
using Communicator = struct OpaqueCommunicator*;

struct Library {
  void* handle = nullptr;
  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*init_rank)(Communicator*, int, UniqueId, int) = nullptr;
  int (*abort)(Communicator) = nullptr;
  int (*destroy)(Communicator) = nullptr;
  int (*get_async_error)(Communicator, int*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  int (*send)(const void*, std::size_t, int, int, Communicator, cudaStream_t) = nullptr;
  int (*receive)(void*, std::size_t, int, int, Communicator, cudaStream_t) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;

  /// Empty when it could be loaded, otherwise why not.
  std::string load() {
    std::string why;
    handle =
        open_first(library_places("TILEWAVE_NCCL", "libnccl.so.2", {"nvidia/nccl/lib"}, {}), &why);
    if (!handle) return why;
    std::string missing;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      if (!function) missing = name;
    };
    find(get_version, "ncclGetVersion");
    find(get_unique_id, "ncclGetUniqueId");
    find(init_rank, "ncclCommInitRank");
    find(abort, "ncclCommAbort");
    find(destroy, "ncclCommDestroy");
    find(get_async_error, "ncclCommGetAsyncError");
    find(get_error_string, "ncclGetErrorString");
    find(send, "ncclSend");
    find(receive, "ncclRecv");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    return missing.empty() ? ""
                           : "the NCCL library has no " + missing + ": use version 2.7 or later";
  }
};

class LoadedNccl final : public Nccl {
 public:
  LoadedNccl(const Library& library, const UniqueId& id, int size, int rank) : library_(library) {
    check(library_.init_rank(&communicator_, size, id, rank), "join the ranks");
  }
  // Transfers that were waited for leave nothing to abort; others must not keep the process.
  ~LoadedNccl() override {
    if (failed_) {
      library_.abort(communicator_);
    } else {
      library_.destroy(communicator_);
    }
  }

  int version() const override {
    int version = 0;
    return library_.get_version(&version) == kSuccess ? version : 0;
  }
  void start_group() override { check(library_.group_start(), "start a group"); }
  void end_group() override { check(library_.group_end(), "start transfers"); }
  void send(const void* from, std::size_t num_bytes, int peer, const Stream& stream) override {
    check(library_.send(from, num_bytes, kInt8, peer, communicator_, stream.get()), "send");
  }
  void receive(void* to, std::size_t num_bytes, int peer, const Stream& stream) override {
    check(library_.receive(to, num_bytes, kInt8, peer, communicator_, stream.get()), "receive");
  }
  void check_transfers() override {
    int status = kSuccess;
    check(library_.get_async_error(communicator_, &status), "ask for errors");
    check(status, "exchange data");
  }

 private:
  void check(int status, const char* doing) {
    if (status == kSuccess || status == kInProgress) return;
    failed_ = true;
    fail(ExitCode::kCommunication, "NCCL cannot ", doing, ": ", library_.get_error_string(status),
         " (NCCL_DEBUG=WARN says more; TILEWAVE_TRANSPORT=mpi does without it)");
  }

  Library library_;
  Communicator communicator_ = nullptr;
  bool failed_ = false;
};

struct Member {
  int loaded = 0;
  char device[32] = {};  // its place on the bus
  char host[64] = {};
  char problem[160] = {};
};

}  // namespace

int Nccl::library_version(std::string* problem) {
  Library library;
  *problem = library.load();
  int version = 0;
  if (problem->empty() && library.get_version(&version) != kSuccess)
    *problem = "it does not tell its version";
  return problem->empty() ? version : 0;
}

std::unique_ptr<Nccl> Nccl::connect(Ranks& ranks, int device, std::string* problem) {
  // multicast over the switch has been seen to hang; set before the library reads it
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  Library library;
  Member me;
  const std::string missing = library.load();
  me.loaded = missing.empty();
  std::strncpy(me.problem, missing.c_str(), sizeof me.problem - 1);
  gethostname(me.host, sizeof me.host - 1);
  cuda::check(cudaDeviceGetPCIBusId(me.device, sizeof me.device, device), "find a device's place");
  std::vector<Member> all(static_cast<std::size_t>(ranks.size()));
  ranks.gather(&me, all.data(), sizeof me);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!all[r].loaded) {
      *problem = "rank " + std::to_string(r) + ": " + all[r].problem;
      return nullptr;
    }
    for (std::size_t s = 0; s < r; ++s) {
      if (!std::strcmp(all[r].host, all[s].host) && !std::strcmp(all[r].device, all[s].device)) {
        *problem = "ranks " + std::to_string(s) + " and " + std::to_string(r) + " share a device";
        return nullptr;
      }
    }
  }
  UniqueId id{};
  if (ranks.rank() == 0 && library.get_unique_id(&id) != kSuccess) {
    fail(ExitCode::kCommunication,
         "NCCL cannot make an identity for the ranks (NCCL_DEBUG=WARN says more)");
  }
  ranks.broadcast(&id, sizeof id, 0);
  return std::make_unique<LoadedNccl>(library, id, ranks.size(), ranks.rank());
}

std::shared_ptr<Nccl> Nccl::joined(const std::shared_ptr<Ranks>& ranks, int device,
                                   std::string* problem) {
  struct Joined {
    std::weak_ptr<Ranks> ranks;
    int device;
    std::shared_ptr<Nccl> nccl;
    std::string problem;
  };
  static std::mutex mutex;
  static auto* const all = new std::vector<Joined>;
  {
    const std::lock_guard lock(mutex);
    for (const Joined& joined : *all) {
      if (joined.device != device || joined.ranks.lock() != ranks) continue;
      *problem = joined.problem;
      return joined.nccl;
    }
  }
  Joined made{ranks, device, nullptr, {}};
  made.nccl = connect(*ranks, device, &made.problem);  // others wait for it: without the lock
  *problem = made.problem;
  const std::lock_guard lock(mutex);
  return all->emplace_back(std::move(made)).nccl;
}

}  // namespace tilewave::runtime::cuda
