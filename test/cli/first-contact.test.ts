/** First contact by four words, from two terminals. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { login } from '../e2e/servers.ts'
import { started } from './wait/started.ts'
import { terminal, type Typed } from './terminal.ts'
import { newCliFixture } from './cli-fixture.ts'

async function two(t: Parameters<typeof newCliFixture>[0]) {
  const fixture = await newCliFixture(t)
  const person = async (name: string) => {
    const stateDir = freshFolder(t)
    const email = `${name}@example.org`
    await login(stateDir, { server: fixture.server, mailDir: fixture.mailDir, email })
    const on = (args: readonly string[], more: Typed = {}) =>
      terminal(stateDir)(args, { ...more, env: { SVC_BACKEND_URL: fixture.server } })
    return { stateDir, email, on, server: fixture.server }
  }
  return [await person('ada'), await person('bob')] as const
}

test('four words are made at one terminal, typed at the other, and confirm both', async (t) => {
  const [ada, bob] = await two(t)
  const create = ['connection', 'create', '--name', 'Bank', '--invite', bob.email, '--words']
  const pattern = /^((?:[a-z]+ ){3}[a-z]+) {2}for bob@example\.org$/m
  const making = started(ada.stateDir, create, { env: { SVC_BACKEND_URL: ada.server } })
  const words = (await making.seen(pattern))[1] as string
  const { received } = JSON.parse((await bob.on(['invite', 'list', '--json'])).out)
  const typed = [words.split(' ').slice(1).join(' '), words]
  const approving = await bob.on(['invite', 'approve', received[0].id, '--words'], {
    person: () => typed.shift() ?? null,
  })
  assert.equal(approving.code, EXIT.ok, approving.err)
  assert.match(
    approving.err,
    /Four words that the inviter says: Four words are needed, but there are 3/,
  )
  assert.match(approving.err, /Both devices have the same words/)
  assert.match(approving.err, /Approved "Bank"/)
  const made = await making.ended
  assert.equal(made.code, EXIT.ok, made.err)
  assert.match(made.err, /Both devices have the same words. The other side is confirmed/)
  for (const one of [ada, bob]) {
    const { items } = JSON.parse((await one.on(['trust', 'list', '--json'])).out)
    assert.equal(items[0].key_status, 'confirmed')
    const contacts = await one.on(['invite', 'contacts'])
    assert.match(contacts.out, /confirmed/)
    assert(!contacts.out.includes(words))
  }
})

test('four words need an invitation, and cannot be an argument', async (t) => {
  const [ada] = await two(t)
  const nobody = await ada.on(['connection', 'create', '--name', 'Bank', '--words'])
  assert.equal(nobody.code, EXIT.usage)
  assert.match(nobody.err, /--words can only be used with --invite/)
  const id = `inv_${'0'.repeat(26)}`
  const argued = await ada.on(['invite', 'approve', id, '--words', 'able acid'])
  assert.equal(argued.code, EXIT.usage)
  const silent = await ada.on(['invite', 'approve', id, '--words'], { input: '' })
  assert.equal(silent.code, EXIT.failed)
  assert.match(silent.err, /Nothing was approved, because the four words/)
})

test('verify rejects four words because of their number', async (t) => {
  const [ada] = await two(t)
  const { code, err } = await ada.on(['verify', 'acid', 'acid', 'acid', 'acid'])
  assert.equal(code, EXIT.failed)
  assert.match(err, /[Tt]hree words/)
})
