#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# A rank looks itself up in the HCCL rank table, as a script of HCCL would, and says
# where the table has it and where it is.
import json
import os

with open(os.environ["RANK_TABLE_FILE"], encoding="utf-8") as f:
    table = json.load(f)
assert table["status"] == "completed"
pod = {s["server_id"]: p["super_pod_id"]
       for p in table.get("super_pod_list", []) for s in p["server_list"]}
for server in table["server_list"]:
    for device in server["device"]:
        if device["rank_id"] == os.environ["RANK_ID"]:
            print("table", table["version"], device["rank_id"], server["server_id"],
                  device["device_id"], pod.get(server["server_id"], "-"),
                  "is", os.environ["RANK"], os.environ["SLURMD_NODENAME"],
                  os.environ["SUPERNODE_CARDS"], os.environ["SUPERNODE_NAME"],
                  os.environ.get("SUPERNODE_GENERATION"), flush=True)
