/** An organisation with people in it, over one database, for the suites of its activity. */
import type { Account } from '../../../src/api/port.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { mintMachineToken } from '../../../src/service/devices/machine-tokens.ts'
import type { Schema } from '../../../src/service/db/schema.ts'
import { type ServiceDatabase, openServiceDatabase } from '../database.ts'
import type { Engine } from '../engines.ts'
import { newKey } from '../machines-subject.ts'
import { enrol, type Person } from '../person.ts'
import { type LocalSubject, openSubject } from '../subject.ts'

type Membership = Pick<Schema['organisation_members'], 'role' | 'state'>

/** A day that is not the first of a week, a month or a year. */
export const NOW = Date.UTC(2026, 5, 17, 12)

export interface OrgFixture {
  readonly subject: LocalSubject
  readonly hand: ServiceDatabase
  close(): Promise<void>
  /** Enrols a person who owns an organisation and acts in it. */
  owner(called?: string): Promise<Person & { readonly organisation: string }>
  /**
   * Enrols a person in an organisation, who chose it as the active one while it was available.
   */
  member(organisation: string, of?: Partial<Membership>, called?: string): Promise<Person>
  /** Creates a machine account of an organisation, with a token of the scope `full`. */
  machine(owner: Pick<Person, 'account'>, organisation: string): Promise<MachineAccount>
  setState(account: string, state: Membership['state']): Promise<void>
}

export interface MachineAccount {
  readonly id: string
  readonly account: Account
}

/** @param clock the current time in Unix milliseconds */
export async function openOrgFixture(
  { newPlace }: Engine,
  clock = { ms: NOW },
): Promise<OrgFixture> {
  const place = await newPlace()
  const subject = await openSubject(place, clock)
  const hand = await openServiceDatabase(place)
  const { service, server } = subject

  const setState: OrgFixture['setState'] = async (account, state) => {
    await hand.db
      .updateTable('organisation_members')
      .set({ state })
      .where('account_id', '=', account)
      .execute()
  }

  return {
    subject,
    hand,
    setState,
    close: async () => {
      await hand.close()
      await subject.close()
    },
    owner: async (called = 'Ada') => {
      const person = await enrol(server, called)
      const { id } = await person.account.organisations.create({ body: { name: 'Acme' } })
      await person.account.context.activeOrg({ body: { organisation_id: id } })
      return { ...person, organisation: id }
    },
    member: async (organisation_id, { role = 'member', state = 'active' } = {}, called = 'Bob') => {
      const person = await enrol(server, called)
      await hand.db
        .insertInto('organisation_members')
        .values({
          organisation_id,
          account_id: person.id,
          role,
          state: 'active',
          joined_at: clock.ms,
          member_id: newId('mem_', clock.ms),
        })
        .execute()
      await person.account.context.activeOrg({ body: { organisation_id } })
      if (state !== 'active') await setState(person.id, state)
      return person
    },
    machine: async ({ account }, organisation_id) => {
      const { machine_id: id } = await account.machines.create({
        body: { organisation_id, name: 'billing', key: newKey().jwk },
      })
      const of = { name: 'x', label: null, scope: 'full', granted: 0, expires_in: null } as const
      const { token } = await mintMachineToken({ db: hand.db, now: () => clock.ms }, id, of)
      return {
        id,
        account: service.as(await service.authenticate({ token, proof: null })),
      }
    },
  }
}
