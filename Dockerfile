# Two targets: `daemon`, honed itself (a service: compose.yaml), and `sandbox`, the image agents run in. Name the target:
#   docker build --target daemon  -t honed .
#   docker build --target sandbox -t honed-sandbox .
# The bases are named by tag; pin them by digest for your own registry with --build-arg (NAME@sha256:…). honed records
# the digest of the image it really used with every attempt.
ARG SANDBOX_BASE=debian:bookworm-slim
ARG DAEMON_BASE=python:3.11-slim-bookworm

FROM ${DAEMON_BASE} AS wheel
COPY requirements/build.txt /build/requirements/build.txt
RUN pip install --no-cache-dir --no-deps --require-hashes -r /build/requirements/build.txt
COPY pyproject.toml README.md LICENSE /build/
COPY daemon /build/daemon
COPY harnesses /build/harnesses
COPY sandboxes /build/sandboxes
COPY skills_repo /build/skills_repo
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation -w /dist /build

# It runs with the engine's socket, the project and honed's home at the same paths as on the host, since the engine
# resolves the paths that it mounts there; `honed setup` on the host fills that home. compose.yaml does all of it.
FROM ${DAEMON_BASE} AS daemon
# More Debian packages: openssh-client for git over ssh and for ssh signatures, gnupg for its.
ARG EXTRA_PACKAGES=""
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates git ${EXTRA_PACKAGES} \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --shell /usr/sbin/nologin honed
COPY requirements/runtime.txt /tmp/runtime.txt
RUN pip install --no-cache-dir --no-deps --require-hashes -r /tmp/runtime.txt && rm /tmp/runtime.txt
COPY --from=wheel /dist /tmp/dist
RUN pip install --no-cache-dir --no-deps /tmp/dist/*.whl && rm -rf /tmp/dist
LABEL org.opencontainers.image.title="honed" \
      org.opencontainers.image.description="Keeps skills of coding agents sharp: the daemon" \
      org.opencontainers.image.licenses="MIT"
ENV PYTHONUNBUFFERED=1 HONED_INSTALL_ENGINE=0
USER 10001:10001
WORKDIR /home/honed
# Asks the control socket of the project in the working directory; start it with an init (docker run --init).
HEALTHCHECK --interval=60s --timeout=15s --start-period=60s CMD ["python3", "-I", "-m", "daemon.control.alive"]
ENTRYPOINT ["honed"]
CMD ["daemon"]

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
