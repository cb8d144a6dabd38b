/** The tests that every keychain passes, with any backend. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Keychain } from '../../src/keychain/backend.ts'

type Open = (t: TestContext) => Promise<Keychain>

const SECRETS: readonly (readonly [name: string, secret: string])[] = [
  ['plain', 'secret'],
  ['token/tok_01K9', 'a'.repeat(2000)],
  ['../escape', 'zwölf\n€ "quoted"'],
  ['Case', 'upper'],
  ['case', 'lower'],
  ['empty', ''],
]

/** Registers the suite. */
export function keychainSuite(title: string, open: Open): void {
  test(`${title}: a name without a secret is null, and deleting it is no error`, async (t) => {
    const keychain = await open(t)
    assert.equal(keychain.get('nobody'), null)
    keychain.delete('nobody')
    assert.equal(keychain.get('nobody'), null)
  })

  test(`${title}: every secret is returned unchanged, by its own name`, async (t) => {
    const keychain = await open(t)
    for (const [name, secret] of SECRETS) keychain.set(name, secret)
    for (const [name, secret] of SECRETS) assert.equal(keychain.get(name), secret)
  })

  test(`${title}: the last value wins`, async (t) => {
    const keychain = await open(t)
    keychain.set('one', 'first')
    keychain.set('one', 'second')
    assert.equal(keychain.get('one'), 'second')
  })

  test(`${title}: a deleted secret is gone, the others stay, and it can be stored again`, async (t) => {
    const keychain = await open(t)
    keychain.set('gone', 'a')
    keychain.set('stays', 'b')
    keychain.delete('gone')
    assert.equal(keychain.get('gone'), null)
    assert.equal(keychain.get('stays'), 'b')
    keychain.set('gone', 'c')
    assert.equal(keychain.get('gone'), 'c')
  })
}

/** Registers the tests for keychains that outlive a process. */
export function lastingSuite(
  title: string,
  openAt: (dir: string) => Promise<Keychain>,
  freshDir: (t: TestContext) => string,
): void {
  test(`${title}: secrets survive a restart`, async (t) => {
    const dir = freshDir(t)
    const before = await openAt(dir)
    before.set('kept', 'value')
    const after = await openAt(dir)
    assert.equal(after.backend, before.backend)
    assert.equal(after.get('kept'), 'value')
  })

  test(`${title}: two state folders do not see each other's secrets`, async (t) => {
    const one = await openAt(freshDir(t))
    const other = await openAt(freshDir(t))
    one.set('same', 'one')
    assert.equal(other.get('same'), null)
    other.set('same', 'other')
    assert.equal(one.get('same'), 'one')
    one.delete('same')
    assert.equal(other.get('same'), 'other')
  })
}
