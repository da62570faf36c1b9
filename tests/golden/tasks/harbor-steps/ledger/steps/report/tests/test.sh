#!/bin/bash
. "$TESTS_DIR/same.sh"
right=$(($(has totals.csv "anna,$TOTAL_ANNA") + $(has report.txt anna)))
[ ! -e setup.sh ] || right=0
printf '{"reward": %s, "files": %s}\n' "$([ $right = 2 ] && echo 1 || echo 0.$((right * 5)))" "$right" > "$LOGS_DIR/reward.json"
