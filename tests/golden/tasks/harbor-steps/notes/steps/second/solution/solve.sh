#!/bin/bash
[ ! -e word.txt ] && cat notes.txt notes.txt > two.txt && mv two.txt notes.txt
