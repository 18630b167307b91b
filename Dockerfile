# docker build -t rowhouse . && docker run --rm -it rowhouse   (podman the same, without root)
FROM debian:12 AS build
COPY . /rowhouse
WORKDIR /rowhouse
RUN apt-get update && apt-get install --yes --no-install-recommends git && launch/setup.sh && cmake --preset release && cmake --build --preset release --target rowhouse && cpack -G DEB --config build/release/CPackConfig.cmake -B /package
FROM debian:12-slim
COPY --from=build /package/rowhouse_*.deb /tmp/
RUN apt-get update && apt-get install --yes --no-install-recommends /tmp/rowhouse_*.deb && rm -rf /tmp/rowhouse_*.deb /var/lib/apt/lists/* && useradd --create-home rowhouse
USER rowhouse
WORKDIR /home/rowhouse
CMD ["rowhouse-mpirun", "-n", "4", "rowhouse", "train", "--config=/usr/share/rowhouse/configs/quickstart.yaml", "--ps=2", "--model_dir=quickstart"]
