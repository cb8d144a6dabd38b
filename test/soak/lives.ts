/** The daemon of one folder, which is started and killed again and again. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { caller, newToken } from '../e2e/caller.ts'
import { type Running, startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import type { Chance } from './chance.ts'
import type { Stage } from './ledger.ts'
import { ownerOf } from './whole.ts'

/** One kill of this many comes while the daemon stops. */
const ENDING = 7

export const stageOf = ({ address, accountAddress, stateDir }: Running, token: string): Stage => ({
  address,
  accountAddress,
  token,
  owner: ownerOf(stateDir),
})

/** Starts a daemon that ends with the test, passed or failed. */
export async function started(
  t: TestContext,
  dir: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Running> {
  const daemon = await startDaemon(dir, env)
  t.after(() => daemon.end('SIGKILL'))
  return daemon
}

/** Creates a folder with a token and an organisation in it. */
export async function settled(t: TestContext) {
  const dir = freshFolder(t)
  const daemon = await started(t, dir)
  const { token } = await newToken(daemon.address)
  const owner = caller(daemon.address, ownerOf(dir))
  const { id } = await owner('POST /api/v1/org', { name: 'Example' })
  return { dir, daemon, token, organisation: id as string }
}

/** Kills a daemon; some of the kills come while it stops. */
export async function kill(daemon: Running, number: number, dice: Chance): Promise<void> {
  if (number % ENDING !== 1) return assert.equal(await daemon.end('SIGKILL'), null)
  const ended = daemon.end('SIGTERM')
  await setTimeout(dice.below(30))
  await Promise.all([ended, daemon.end('SIGKILL')])
}
