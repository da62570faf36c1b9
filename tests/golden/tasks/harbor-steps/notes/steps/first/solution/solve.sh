#!/bin/bash
cp word.txt notes.txt && rm word.txt
