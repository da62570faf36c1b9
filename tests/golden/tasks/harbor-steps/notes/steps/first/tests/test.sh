#!/bin/bash
[ "$(grep -cx lantern notes.txt 2>/dev/null)" = 1 ]
echo $((1 - $?)) > "$LOGS_DIR/reward.txt"
