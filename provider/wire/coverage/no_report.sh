#!/bin/sh
# In the place of the program that merges coverage reports: there is one, and the test reads it.
