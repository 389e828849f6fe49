#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""hccl_table.py - what an HCCL job reads before its first collective: finds its
own rank in the table that RANK_TABLE_FILE names, and checks that the device
which the table gives it is the one that its environment gives it.
"""
import json
import os
import sys


def die(text):
    sys.exit("hccl_table.py: rank %s: %s" % (os.environ.get("RANK_ID", "?"), text))


def devices_1(table):
    """rank -> (server, device, address) of versions 1.0 and 1.2, all text."""
    if table["status"] != "completed":
        die("the table's status is %s" % table["status"])
    found = {}
    for server in table["server_list"]:
        for device in server["device"]:
            found[int(device["rank_id"])] = (server["server_id"], int(device["device_id"]), device.get("device_ip"))
    if int(table["server_count"]) != len(table["server_list"]):
        die("server_count is %s, but %d servers are listed" % (table["server_count"], len(table["server_list"])))
    if table["version"] == "1.2":
        listed = [s["server_id"] for pod in table["super_pod_list"] for s in pod["server_list"]]
        if sorted(listed) != sorted(s["server_id"] for s in table["server_list"]):
            die("super_pod_list and server_list do not name the same servers")
    return found


def devices_2(table):
    """The same of version 2.0."""
    if table["rank_count"] != len(table["rank_list"]):
        die("rank_count is %d, but %d ranks are listed" % (table["rank_count"], len(table["rank_list"])))
    return {r["rank_id"]: (r["level_list"][0]["net_instance_id"], r["device_id"], None) for r in table["rank_list"]}


def main():
    path = os.environ.get("RANK_TABLE_FILE") or die("RANK_TABLE_FILE is not set: is RankTable set in supernode.conf?")
    rank, size = int(os.environ["RANK_ID"]), int(os.environ["RANK_SIZE"])
    try:
        with open(path) as f:
            table = json.load(f)
        found = (devices_2 if table["version"] == "2.0" else devices_1)(table)
    except (OSError, ValueError, KeyError, IndexError, TypeError) as e:
        die("%s is no whole rank table: %s: %s" % (path, type(e).__name__, e))
    if sorted(found) != list(range(size)):
        die("the table has %d ranks, RANK_SIZE is %d" % (len(found), size))
    server, device, address = found[rank]
    # A process sees its own card, or (VisibleCards=node) all of the node's, and
    # DEVICE_ID counts among those.
    visible = [int(n) for n in os.environ["ASCEND_RT_VISIBLE_DEVICES"].split(",")]
    mine = int(os.environ["DEVICE_ID"])
    if mine >= len(visible) or visible[mine] != device:
        die("the table gives it device %d, but it sees ASCEND_RT_VISIBLE_DEVICES=%s with DEVICE_ID=%d"
            % (device, os.environ["ASCEND_RT_VISIBLE_DEVICES"], mine))
    if len({v[:2] for v in found.values()}) != size:
        die("two ranks have the same device of the same server")
    print("hccl: rank %d of %d is device %d of %s%s, in a table of version %s"
          % (rank, size, device, server, " at " + address if address else "", table["version"]))


if __name__ == "__main__":
    main()
