/**
 * Creates an organisation's machine accounts. A key belongs to one machine, so the server
 * recognises a repeated request by its key.
 */
import type { Kysely } from 'kysely'
import type { Service } from '../../api/port.ts'
import { ID_PREFIX, newId } from '../../crypto/encoding/id.ts'
import { type PublicJwk, jwkBytes, thumbprint } from '../../crypto/jose/jwk.ts'
import { AppError } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import { verified } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { tokenEndpoint } from '../devices/machines.ts'
import { lockOrganisation, requireManager, requireRoom } from './organisations.ts'

interface Wanted {
  readonly organisation_id: string
  readonly name: string
  readonly key: PublicJwk
}

/**
 * Creates a machine and its membership. Returns null, and changes nothing, if another machine has
 * the key. The account id is the same as the machine id until the first device enrols, because
 * account ids are derived from a device's keys.
 */
async function make(
  db: Kysely<Schema>,
  { organisation_id, name, key }: Wanted,
  creator: string,
  at: number,
): Promise<string | null> {
  const id = newId(ID_PREFIX.machine, at)
  await db.insertInto('accounts').values({ id, kind: 'machine', display_name: name }).execute()
  const { numInsertedOrUpdatedRows: made } = await db
    .insertInto('machines')
    .values({
      id,
      account_id: id,
      organisation_id,
      kid: thumbprint(key),
      key: JSON.stringify(key),
      created_by: creator,
      created_at: at,
    })
    .onConflict((conflict) => conflict.column('kid').doNothing())
    .executeTakeFirstOrThrow()
  if (made !== 1n) {
    // The row is deleted instead of a rollback, because the transaction must go on to find the
    // machine that has the key.
    await db.deleteFrom('accounts').where('id', '=', id).execute()
    return null
  }
  await db
    .insertInto('organisation_members')
    .values({
      organisation_id,
      account_id: id,
      role: 'member',
      state: 'active',
      joined_at: at,
      member_id: newId('mem_', at),
    })
    .execute()
  return id
}

/**
 * Returns the machine that an earlier request with the same values created.
 * @throws AppError `conflict` if the key belongs to another machine
 */
async function madeBefore(db: Kysely<Schema>, { organisation_id, name, key }: Wanted) {
  const row = await db
    .selectFrom('machines')
    .innerJoin('accounts', 'accounts.id', 'machines.account_id')
    .select('machines.id')
    .where('kid', '=', thumbprint(key))
    .where('organisation_id', '=', organisation_id)
    .where('display_name', '=', name)
    .executeTakeFirst()
  if (row === undefined)
    throw new AppError('conflict', 'Another machine uses this key. Create a new key.')
  return row.id
}

export const machines = (
  ground: Pick<ServiceContext, 'events' | 'now' | 'publicUrl'>,
): Service['machines'] => ({
  create: async ({ body }, { account }) => {
    verified('key', () => jwkBytes(body.key))
    const id = await ground.events.transaction(async (trx) => {
      // Because of this lock, a concurrent deletion of the organisation either has finished or will
      // delete this machine too.
      await lockOrganisation(trx, body.organisation_id)
      await requireManager(trx, body.organisation_id, account)
      const at = ground.now()
      const made = await make(trx, body, account, at)
      if (made === null) return madeBefore(trx, body)
      await requireRoom(trx, body.organisation_id, 0)
      await ground.events.publish(trx, {
        type: 'machine.created',
        organisation: body.organisation_id,
        machine: made,
        actor: account,
        at,
      })
      return made
    })
    return {
      machine_id: id,
      organisation_id: body.organisation_id,
      name: body.name,
      token_endpoint: tokenEndpoint(ground),
    }
  },
})
