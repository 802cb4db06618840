#include "gpuexec/cublas_library.h"

#include <string>

#include <dlfcn.h>

#include "common/error.h"

namespace doppler {
namespace {

CublasLibrary load() {
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  // Where the toolkit was when this was built.
  if (handle == nullptr) {
    handle = dlopen((std::string(DP_CUDA_LIBRARY_DIR) + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    throw SystemError(
        "dlopen(" + name + "): " + dlerror() +
        "; install cuBLAS of the CUDA Toolkit, or name its folder in LD_LIBRARY_PATH");
  }
  const auto find = [&](const char* symbol, auto& function) {
    void* address = dlsym(handle, symbol);
    if (address == nullptr) throw SystemError("dlsym(" + name + ", " + symbol + "): " + dlerror());
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  CublasLibrary library;
  find("cublasCreate_v2", library.create);
  find("cublasDestroy_v2", library.destroy);
  find("cublasSetStream_v2", library.set_stream);
  find("cublasSetWorkspace_v2", library.set_workspace);
  find("cublasSgemm_v2", library.sgemm);
  find("cublasSgemmStridedBatched", library.sgemm_strided_batched);
  find("cublasGetStatusString", library.status_string);
  return library;
}

}  // namespace

const CublasLibrary& cublas_library() {
  static const CublasLibrary library = load();
  return library;
}

}  // namespace doppler
