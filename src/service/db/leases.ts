/**
 * Leases of jobs that only one replica should do at a time. If the owner of a lease stops, the
 * lease expires. Two replicas may do a job at the same time if one is slow or its clock is wrong,
 * so a job must be correct without its lease.
 */
import type { Kysely } from 'kysely'
import type { Schema } from './schema.ts'

interface Lease {
  readonly name: Schema['leases']['name']
  /** An id of this process. */
  readonly owner: string
  /** How long the lease is valid after it was taken or renewed, in milliseconds. */
  readonly ms: number
}

/**
 * Takes or renews a lease. Returns false if another replica has it.
 * @param at Unix milliseconds
 */
export async function takeLease(
  db: Kysely<Schema>,
  { name, owner, ms }: Lease,
  at: number,
): Promise<boolean> {
  const set = { owner, until: at + ms }
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
            of('leases.until', '>', at + 2 * ms),
          ]),
        ),
    )
    .returning('name')
    .execute()
  return taken.length === 1
}

/** Ends a lease, so that another replica does not have to wait until it expires. */
export async function endLease(db: Kysely<Schema>, { name, owner }: Lease): Promise<void> {
  await db.deleteFrom('leases').where('name', '=', name).where('owner', '=', owner).execute()
}
