# spack repo add packaging/spack && spack dev-build -d . tilewave@=main
from spack.package import *


class Tilewave(CMakePackage, CudaPackage):
    """Quantum circuits, error-correction sampling, local entropy and fused maps, as fast as memory allows."""

    license("MIT")

    version("main", branch="main")

    variant("mpi", default=True, description="share a state among processes that mpirun or srun starts")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("highway@1.0.3:")
    depends_on("libpng")
    depends_on("libtiff")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12:", when="+cuda")

    generator("ninja")
    requires("%gcc@12:", "%clang@14:", policy="one_of", msg="the source is C++20")
    conflicts("cuda_arch=none", when="+cuda", msg="name the architectures of the GPUs, such as cuda_arch=90")

    def cmake_args(self):
        args = [
            self.define("TW_BUILD_TESTS", False),
            self.define("TW_WERROR", False),
            self.define("TW_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("TW_MPI", "ON" if self.spec.satisfies("+mpi") else "OFF"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.tilewave)("doctor")
