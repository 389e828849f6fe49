/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mpi_groups.c - an MPI job that splits its world by the coordinates that the
 * suite puts into each rank's environment, and checks sums over the parts.
 *
 *	mpicc -o mpi_groups mpi_groups.c
 *	sbatch mpi.sbatch
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int env(const char *name)
{
	const char *text = getenv(name);

	if (!text) {
		fprintf(stderr, "mpi_groups: %s is not set\n", name);
		MPI_Abort(MPI_COMM_WORLD, 2);
		return 0;
	}
	return atoi(text);
}

static void fail(const char *what, long got, long want)
{
	fprintf(stderr, "mpi_groups: rank %d: %s is %ld, not %ld\n",
		env("RANK"), what, got, want);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The ranks that differ from this one on that axis alone, and what their ranks
 * add up to: the first of them and a stride follow from the coordinates. */
static void check_axis(const char *axis, int at, int size, int stride)
{
	int rank, members;
	long got, want, mine;
	int first;
	MPI_Comm comm;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	first = rank - at * stride;
	MPI_Comm_split(MPI_COMM_WORLD, first, at, &comm);
	MPI_Comm_size(comm, &members);
	if (members != size)
		fail(axis, members, size);
	mine = rank;
	MPI_Allreduce(&mine, &got, 1, MPI_LONG, MPI_SUM, comm);
	want = (long)size * first + (long)stride * size * (size - 1) / 2;
	if (got != want)
		fail(axis, got, want);
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	int rank, world, tp, cp, dp, pp;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world);
	if (rank != env("RANK"))
		fail("MPI's rank", rank, env("RANK"));
	if (world != env("WORLD_SIZE"))
		fail("MPI's world", world, env("WORLD_SIZE"));
	tp = env("TP_SIZE");
	cp = env("CP_SIZE");
	dp = env("DP_SIZE");
	pp = env("PP_SIZE");
	/* rank = tp + TP*(cp + CP*(dp + DP*pp)), the default order. */
	check_axis("the sum over TP", env("TP_RANK"), tp, 1);
	check_axis("the sum over CP", env("CP_RANK"), cp, tp);
	check_axis("the sum over DP", env("DP_RANK"), dp, tp * cp);
	check_axis("the sum over PP", env("PP_RANK"), pp, tp * cp * dp);
	if (!rank)
		printf("mpi: %d ranks, tp %d cp %d dp %d pp %d: every sum is right\n",
		       world, tp, cp, dp, pp);
	MPI_Finalize();
	return 0;
}
