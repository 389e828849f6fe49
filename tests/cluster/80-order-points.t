#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 80-orders.t at every point, in each way: minutes.
SN_POINTS=all
. "$(dirname "$0")/80-orders.t"
