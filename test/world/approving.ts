/**
 * Runs an approval as two people, or one with two screens, do it.
 * The words of each device are typed into the other.
 */
import assert from 'node:assert/strict'
import type { Account } from '../../src/api/port.ts'
import type { Approver } from '../../src/device/approval/approver.ts'
import type { SignInFlow } from '../../src/device/session/sign-in-flow.ts'

/** The approving device. */
export interface Old {
  readonly approver: Approver
  readonly account: Account
}

/** Runs an attempt until words can be typed; returns those of the new device. */
export async function shownBy(
  old: Old,
  fresh: Pick<SignInFlow, 'beginApproval' | 'advanceApproval'>,
) {
  const { device_id: id } = await fresh.beginApproval()
  assert(id !== null)
  const { approver, account } = old
  assert.equal((await approver.begin(account, id)).state, 'revealing')
  const { device_words: words } = await fresh.advanceApproval()
  assert(words !== null, 'the new device shows no words')
  assert.equal((await approver.advance(account, id)).state, 'ready')
  return { id, words }
}

/**
 * Gets a device added to the key log.
 * @returns the words that the approving device shows then
 */
export async function added(old: Old, fresh: SignInFlow): Promise<string> {
  const { id, words } = await shownBy(old, fresh)
  return (await old.approver.approve(old.account, id, words)).words
}

/** Approves a device. */
export async function approved(old: Old, fresh: SignInFlow): Promise<void> {
  assert.equal((await fresh.approve(await added(old, fresh))).state, 'signed_in')
}
