# docker build -f packaging/docker/cpu.Dockerfile -t tilewave . && docker run --rm -v "$PWD:/data" tilewave run circuit.qasm
FROM debian:12-slim AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends \
      cmake g++ libcli11-dev libhwy-dev libopenmpi-dev libpng-dev libtiff-dev ninja-build nlohmann-json3-dev pkg-config python3 \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
WORKDIR /source
RUN cmake --preset release -DTW_BUILD_TESTS=OFF && cmake --build build/release --target tilewave tilewave_share tilewave_mpi \
    && cmake --install build/release --prefix /opt/tilewave --component program --strip \
    && cmake --install build/release --prefix /opt/tilewave --component mpi --strip

FROM debian:12-slim
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 libhwy1 libpng16-16 libtiff6 openmpi-bin \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/tilewave /usr
ENV XDG_CACHE_HOME=/tmp/cache
USER 65534:65534
WORKDIR /data
ENTRYPOINT ["tilewave"]
CMD ["help"]
