#!/bin/bash
# Rewards the right number of lines in count.txt.
logs=${LOGS_DIR:-/logs/verifier}
if [ "$(tr -d '[:space:]' < count.txt)" = "$EXPECTED_LINES" ]; then
  echo 1 > "$logs/reward.txt"
else
  echo 0 > "$logs/reward.txt"
fi
