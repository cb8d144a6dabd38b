/** Who may read and who may write a collection of an organisation, for its suites. */
import { test } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import type { ErrorCode } from '../../../src/errors.ts'
import { rejects } from '../../rejects.ts'
import { enrol } from '../person.ts'
import type { OrgFixture } from './org-subject.ts'

export type Actions = Readonly<Record<string, (account: Account, id: string) => Promise<unknown>>>

type Refusal = ErrorCode | ''

/**
 * Tests every action for every kind of caller.
 * @param of `place`: the fixture and an owner in it, which exist when the tests run; `create`:
 *   creates an item of the owner's organisation; `actions`: by name, with `list` and `create` among
 *   them
 */
export function testRights(of: {
  place: () => { fixture: OrgFixture; owner: Awaited<ReturnType<OrgFixture['owner']>> }
  create: () => Promise<{ readonly id: string }>
  actions: Actions
}): void {
  const member = (options: Parameters<OrgFixture['member']>[1] = {}) => {
    const { fixture, owner } = of.place()
    return fixture.member(owner.organisation, options)
  }
  const machine = () => {
    const { fixture, owner } = of.place()
    return fixture.machine(owner, owner.organisation)
  }
  async function adminMachine() {
    const made = await machine()
    await of
      .place()
      .fixture.hand.db.updateTable('organisation_members')
      .set({ role: 'admin' })
      .where('account_id', '=', made.id)
      .execute()
    return made
  }
  const nowhere = ['no_active_organisation', 'no_active_organisation'] as const
  const callers: readonly [
    who: string,
    make: () => Promise<{ readonly account: Account }>,
    read: Refusal,
    write: Refusal,
  ][] = [
    ['an owner', () => member({ role: 'owner' }), '', ''],
    ['an admin', () => member({ role: 'admin' }), '', ''],
    ['a member', () => member(), '', 'forbidden'],
    ['a machine', machine, '', 'forbidden'],
    ['a machine that is an admin', adminMachine, '', ''],
    ['a suspended owner', () => member({ role: 'owner', state: 'suspended' }), ...nowhere],
    ['a suspended admin', () => member({ role: 'admin', state: 'suspended' }), ...nowhere],
    ['an outsider', () => enrol(of.place().fixture.subject.server), ...nowhere],
    ['the owner of another organisation', () => of.place().fixture.owner(), '', 'not_found'],
  ]
  for (const [who, make, read, write] of callers)
    test(`${who}: ${read || 'may read'}, ${write || 'may write'}`, async () => {
      const [{ account }, { id }] = [await make(), await of.create()]
      for (const [action, act] of Object.entries(of.actions)) {
        const elsewhere = write === 'not_found' && action === 'create'
        const refusal = action === 'list' || elsewhere ? read : write
        if (refusal === '') await act(account, id)
        else await rejects(refusal, act(account, id))
      }
    })
}
