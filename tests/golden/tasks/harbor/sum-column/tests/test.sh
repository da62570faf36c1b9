#!/bin/bash
# Half the reward for each file.
python3 "${TESTS_DIR:-/tests}/checks/check.py" "${LOGS_DIR:-/logs/verifier}"
