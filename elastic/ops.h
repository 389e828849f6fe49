/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ops.h - what snelasticd is asked, and what it answers.
 *
 * Every answer has "ok". With "ok": false there is "error", one sentence, and
 * "code", one of refused, not-found, invalid, again, standby.
 *
 * health.report	what was measured or has failed; the sender decides what it
 *			is worth (elastic/auth.h)
 *	{"op": "health.report", "node": "n003",
 *	 "samples": [{"card": 3, "metric": "step_time", "value": 1.2,
 *		      "step": 17, "time": 1732900000.5}],
 *	 "faults": [{"card": 3, "code": "…", "text": "…"}],
 *	 "probes": [{"card": 3, "passed": false, "text": "…"}],
 *	 "job": 123, "source": "probe|preflight|records|user"}
 *	step, gen (the job's generation), time, code, text, job and source may be left
 *	out; time is seconds since 1970 as the reporter's clock has it. probes: what
 *	came of probes; only root on the node and SlurmUser may. → {"ok": true,
 *	"taken": 2, "hint": false, "cards": {"3": "suspect"}}: the states of the cards
 *	named, after it; they are on disk then.
 * health.wanted	{"op": "health.wanted", "node": "n003"}: a node asks what it shall
 *			probe → {"ok": true, "cards": [{"card": 3, "state": "suspect",
 *			"why": "…"}]}; what it is told counts as begun, and is answered by
 *			a health.report with "probes"
 * health.show		{"op": "health.show", "nodes": "n[001-008]"}; without nodes all
 *			that are not healthy → "cards", "domains". "in_force": false:
 *			the node's record does not have the card's mark (yet)
 * health.release	{"op": "health.release", "node": "n003", "cards": [3], "why": "…"}
 *			back to work, whatever the engine thinks; operators
 * health.probe		{"op": "health.probe", "node": "n003", "cards": [3]}: ask for a
 *			probe of them; operators
 * card.drain, card.resume	{"op": "card.drain", "node": "n003", "cards": [3],
 *			"why": "…"}: as snctl card, for operators
 * pool.create	{"op": "pool.create", "name": "weights", "size": "400G", "supernode": "sn03",
 *			"nodes": "n[001-004]", "job": 12, "uid": 1000}: a region with a name, as
 *			snctl pool; size as typed, of the whole or SIZE/node, and "supernode" or
 *			"job"; nodes, uid and, with one of the two, the other may be left out. By
 *			users for themselves, within PoolNamed and PoolNamedUser; by root and
 *			SlurmUser for anybody → {"ok": true, "name": "weights", "uid": 1000,
 *			"bytes": N, "supernode": "sn03", "nodes": 4}: bytes of each node. The same
 *			once more is not made again
 * pool.delete	{"op": "pool.delete", "name": "weights"}: by its owner, root and SlurmUser
 *			→ "waiting": jobs that want it and do not run
 * elastic.attach	{"op": "elastic.attach", "job": 123, "state": {…}}: by the job's snrun
 *			(elastic/attachstate.h) → {"ok": true, "link": 17}, and the
 *			connection stays. On it comes what snrun is to do: {"ok": true, "do":
 *			{"id": 5, "op": "swap", "node": "n003", "cards": [2], "dp": 4,
 *			"why": "…"}} (launcher/control.h); "once": "…": to be done once,
 *			however often it comes
 * elastic.state	{"op": "elastic.state", "job": 123, "link": 17, "state": {…}}: it has
 *			changed; with "id": 5, "ok": false, "error": "…": what came of
 *			an order. not-found: another snrun has attached, or none has
 * elastic.hint		{"op": "elastic.hint", "job": 123, "lost": ["n003"]}: ranks there are
 *			gone; Slurm may not know it yet
 *	{"op": "elastic.hint", "job": 123, "node": "n003", "what": "ended|failed"}: by the
 *			node, something about the job has changed there: slurmctld is asked
 *			at once, and nothing else comes of it. Users may for their own jobs
 * elastic.tell		{"op": "elastic.tell", "job": 123, "do": {"op": "shrink"}}: by the job's
 *			owner and operators → what its snrun answers, or with "op":
 *			"status" what it said last
 * elastic.act		{"op": "elastic.act", "do": "node-out", "node": "n003", "why": "…"}, or "do":
 *			"requeue", "start", "cancel" or "release" with "job": by operators, what the daemon
 *			does by itself (elastic/act.h); jobs with --parallel only → "id", when it
 *			is in the journal; what comes of it is an event
 * elastic.show		{"op": "elastic.show"} → "jobs": a list of the elastic jobs that run,
 *			{"job": 12, "state": "running", "dp": 6, "min_dp": 2, "want_dp": 8,
 *			"max_dp": 12, "generation": 3, "since_safe": 41.5, "failures": 0,
 *			"decisions": [{"at": 1732900000.5, "means": "swap", "how": "told",
 *			"text": "…"}]}: the last decision; with "job" the last ones of that job
 * events		{"op": "events", "after": 0, "limit": 100, "kind": "health",
 *			"node": "n003", "follow": false} → {"ok": true, "events":
 *			[{"id": 1, "at": 1732900000.5, "kind": "health", "node": "n003",
 *			"card": 3, "job": 0, "uid": 0, "text": "…"}]}. With "follow" the
 *			answers go on as more happens.
 * status		{"op": "status"} → who is in charge, since when, what waits
 */
#ifndef SN_ELASTIC_OPS_H
#define SN_ELASTIC_OPS_H

#define SN_OP_CODE_REFUSED "refused"
#define SN_OP_CODE_NOT_FOUND "not-found"
#define SN_OP_CODE_INVALID "invalid"
#define SN_OP_CODE_AGAIN "again"
#define SN_OP_CODE_STANDBY "standby"

#endif
