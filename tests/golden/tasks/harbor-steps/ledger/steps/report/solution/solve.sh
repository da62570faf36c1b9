#!/bin/bash
set -e
awk -F, 'NR > 1 { sum[$1] += $2 } END { for (name in sum) print name "," sum[name] }' data/orders.csv | sort > totals.csv
sort -t, -k2 -n -r totals.csv | head -n 1 | cut -d, -f1 > report.txt
