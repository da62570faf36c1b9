# Two targets: `sandbox`, the image agents run in, and `daemon`, honed itself.
#   docker build --target sandbox -t honed-sandbox .
#   docker build --target daemon  -t honed .
# The bases are named by tag; pin them by digest for your own registry with --build-arg (NAME@sha256:…). honed records
# the digest of the image it really used with every attempt.
ARG SANDBOX_BASE=debian:bookworm-slim
ARG DAEMON_BASE=python:3.11-slim-bookworm

FROM ${SANDBOX_BASE} AS sandbox
COPY sandboxes/image/packages.txt /tmp/packages.txt
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends < /tmp/packages.txt \
 && rm -rf /tmp/packages.txt /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/* /var/log/* \
    /usr/share/doc/* /usr/share/man/* /usr/share/info/* /usr/share/locale/* \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
 && echo 'agent:x:1000:1000::/home/agent:/bin/bash' >> /etc/passwd \
 && echo 'agent:x:1000:' >> /etc/group
USER 1000:1000
CMD ["/bin/bash"]

FROM ${DAEMON_BASE} AS wheel
COPY requirements/build.txt /build/requirements/build.txt
RUN pip install --no-cache-dir --no-deps --require-hashes -r /build/requirements/build.txt
COPY pyproject.toml README.md LICENSE /build/
COPY daemon /build/daemon
COPY harnesses /build/harnesses
COPY sandboxes /build/sandboxes
COPY skills_repo /build/skills_repo
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation -w /dist /build

# Run it with the engine's socket, the repository and honed's home at the same paths as on the host, since the engine
# resolves the paths it mounts there: -v /var/run/docker.sock:/var/run/docker.sock -v "$PWD:$PWD" -w "$PWD"
# -v "$HONED_HOME:$HONED_HOME" -e HONED_HOME. `honed setup` on the host fills that home.
FROM ${DAEMON_BASE} AS daemon
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends git \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --shell /usr/sbin/nologin honed
COPY requirements/runtime.txt /tmp/runtime.txt
RUN pip install --no-cache-dir --no-deps --require-hashes -r /tmp/runtime.txt && rm /tmp/runtime.txt
COPY --from=wheel /dist /tmp/dist
RUN pip install --no-cache-dir --no-deps /tmp/dist/*.whl && rm -rf /tmp/dist
ENV PYTHONUNBUFFERED=1 HONED_INSTALL_ENGINE=0
USER 10001:10001
WORKDIR /home/honed
ENTRYPOINT ["honed"]
CMD ["--help"]
