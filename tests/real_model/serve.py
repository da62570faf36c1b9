"""Serves the model file on loopback: `python serve.py MODEL.gguf PORT` (runs in its own environment)."""

import sys
import time

import xllamacpp  # type: ignore[import-not-found,unused-ignore]

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 8192
params.n_parallel = 2
params.cpuparams.n_threads = 2
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
server = xllamacpp.Server(params)
while True:
    time.sleep(60)
