#!/bin/bash
set -e
[ -f totals.csv ]
cat late.csv >> data/orders.csv
rm -- late.csv "$0"
