# docker build -f packaging/docker/cuda.Dockerfile -t tilewave:cuda . && docker run --rm --gpus all -v "$PWD:/data" tilewave:cuda run circuit.qasm --device cuda
# The runtime image has no toolkit: the CUDA runtime is linked statically, and NVRTC, which compiles passes that run often, is its own package.
FROM nvidia/cuda:13.0.1-devel-ubuntu24.04 AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends \
      cmake g++ libcli11-dev libhwy-dev libpng-dev libtiff-dev ninja-build nlohmann-json3-dev pkg-config python3 \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
WORKDIR /source
ARG ARCHITECTURES="75-real;80-real;86-real;90-real;100;120-real"
RUN cmake --preset cuda-release -DCMAKE_CUDA_ARCHITECTURES="$ARCHITECTURES" -DTW_MPI=OFF -DTW_BUILD_TESTS=OFF \
    && cmake --build build/cuda-release --target tilewave tilewave_share \
    && cmake --install build/cuda-release --prefix /opt/tilewave --component program --strip

FROM ubuntu:24.04
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 libhwy1t64 libpng16-16t64 libtiff6 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/tilewave /usr
COPY --from=build /usr/local/cuda/lib64/libnvrtc.so.13 /usr/local/cuda/lib64/libnvrtc-builtins.so.13.0 /usr/lib/x86_64-linux-gnu/
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
ENV XDG_CACHE_HOME=/tmp/cache
USER 65534:65534
WORKDIR /data
ENTRYPOINT ["tilewave"]
CMD ["help"]
