/** A signed-in laptop, and another one of the same person that waits for approval. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { newWorld } from '../world/world.ts'
import { newLaptop, type Laptop } from './session/signing-in.ts'

type Signer = { by: string; kid: string; seed: Uint8Array; at: number }

async function signerOf({ identity }: Laptop): Promise<Signer> {
  const { device, kid, keys } = identity()
  return { by: device, kid, seed: (await keys()).sign.secret, at: 1 }
}

/** Returns both over one server; `newcomer` is the waiting one, and `by` signs as the other. */
export async function twoLaptops(t: TestContext) {
  const server = await newWorld(t)
  const old = newLaptop(t, server, 'desk')
  await old.signIn()
  const { account } = old.identity()
  const fresh = newLaptop(t, server, 'laptop 2')
  await fresh.signIn()
  const newcomer = {
    id: fresh.identity().device,
    keys: publicKeys(await fresh.identity().keys()),
  }
  return { server, old, fresh, account, newcomer, by: await signerOf(old) }
}

/** Checks that a device is not approved and stores no log. */
export const isWaiting = async ({ flow, identity, state }: Laptop) => {
  assert.equal((await flow.read()).state, 'awaiting_approval')
  assert.equal(identity().approved, false)
  assert.equal(state.logs.head('keylog', identity().account), null)
}
