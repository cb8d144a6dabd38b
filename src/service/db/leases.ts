/**
 * Leases of jobs that only one replica should do at a time. If the owner of a lease stops, the lease
 * expires. Two replicas may do a job at the same time if one is slow or its clock is wrong, so a job
 * must be correct without its lease.
 */
import type { Kysely } from 'kysely'
import type { Schema } from './schema.ts'

type Name = Schema['leases']['name']

/** How long a lease is valid after it was taken or renewed, in milliseconds. */
const LEASE_MS = 30_000

/**
 * Takes or renews a lease. Returns false if another replica has it.
 * @param owner an id of this process
 * @param at Unix milliseconds
 */
export async function takeLease(
  db: Kysely<Schema>,
  { name, owner }: { name: Name; owner: string },
  at: number,
): Promise<boolean> {
  const set = { owner, until: at + LEASE_MS }
  const taken = await db
    .insertInto('leases')
    .values({ name, ...set })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet(set)
        .where((of) =>
          of.or([
            of('leases.owner', '=', owner),
            of('leases.until', '<=', at),
            // Such a lease was taken while a clock was wrong.
            of('leases.until', '>', at + 2 * LEASE_MS),
          ]),
        ),
    )
    .returning('name')
    .execute()
  return taken.length === 1
}

/** Ends a lease, so that another replica does not have to wait until it expires. */
export async function endLease(
  db: Kysely<Schema>,
  { name, owner }: { name: Name; owner: string },
): Promise<void> {
  await db.deleteFrom('leases').where('name', '=', name).where('owner', '=', owner).execute()
}
