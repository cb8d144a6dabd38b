/** Logs of several pages, as an account server returns them. On every engine, and over HTTP. */
import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import type { PageLimits } from '../../../src/service/db/log-pages.ts'
import type { Subject } from '../../account/subject.ts'
import { connected, make } from './connecting.ts'
import {
  enrol,
  enrolByMail,
  logOf,
  mailedCode,
  newAddress,
  renewSealing,
  revocationBy,
  type Person,
} from '../person.ts'

type Open = (more: { logPages: PageLimits }) => Promise<Subject>

export function logPagesSuite(name: string, open: Open): void {
  describe(`pages of logs: ${name}`, () => {
    async function opened(t: TestContext, logPages: PageLimits) {
      const { server, close } = await open({ logPages })
      t.after(close)
      return server
    }

    /** Renews the sealing key that many times and returns the log. */
    async function grown(person: Person, times: number): Promise<readonly string[]> {
      for (let i = 0; i < times; i++) await renewSealing(person)
      return (await logOf(person)).entries
    }

    test('a page of a key log starts at the given entry, has a maximum of entries, and names the newest', async (t) => {
      const server = await opened(t, { entries: 3, characters: 100_000 })
      const ada = await enrol(server)
      const entries = [...(await grown(ada, 2))]
      const entry = await revocationBy(ada, ada.device)
      const place = await ada.account.keyLogs.append({ body: { entry } })
      assert.deepEqual(place, { seq: 3, head: encodeBase64url(entryHash(entry)) })
      entries.push(entry)
      const bob = await enrol(server)
      const read = async (from?: number) => {
        const of = { account: ada.id, ...(from === undefined ? {} : { from }) }
        const { entries: page, seq } = await bob.account.keyLogs.read(of)
        return { page, seq }
      }
      const pages: [from: number | undefined, page: string[]][] = [
        [undefined, entries.slice(0, 3)],
        [0, entries.slice(0, 3)],
        [1, entries.slice(1)],
        [3, entries.slice(3)],
        [4, []],
        [100_000, []],
      ]
      for (const [from, page] of pages) assert.deepEqual(await read(from), { page, seq: 3 })
    })

    test('a page of a key log has a maximum of characters, and at least one entry', async (t) => {
      const server = await opened(t, { entries: 100, characters: 10_000 })
      const ada = await enrol(server)
      const entries = await grown(ada, 20)
      assert.equal(entries.length, 21)
      const first = (await ada.account.keyLogs.read({ account: ada.id })).entries
      assert.ok(first.join('').length <= 10_000)
      assert.ok((first.join('') + entries[first.length]).length > 10_000)
      const tiny = await opened(t, { entries: 100, characters: 1 })
      const bob = await enrol(tiny)
      await renewSealing(bob)
      const { entries: page, seq, seal_keys } = await bob.account.keyLogs.read({ account: bob.id })
      assert.deepEqual([page, seq, seal_keys.length], [[bob.entry], 1, 1])
    })

    test('the key log of a sign-in code comes in pages', async (t) => {
      const server = await opened(t, { entries: 2, characters: 100_000 })
      const email = newAddress()
      const ada = await enrolByMail(server, email, 'Ada')
      const entries = await grown(ada, 1)
      const entry = await revocationBy(ada, ada.device)
      await ada.account.keyLogs.append({ body: { entry } })
      const code = await mailedCode(server, email)
      const read = async (from: number) => {
        const opens = await server.door().signIns.read({ body: { code, from } })
        assert.equal(opens.account_id, ada.id)
        return [opens.key_log, opens.key_log_seq]
      }
      assert.deepEqual(await read(0), [entries, 2])
      assert.deepEqual(await read(2), [[entry], 2])
      assert.deepEqual(await read(3), [[], 2])
      const nobody = await mailedCode(server, newAddress())
      const { key_log, key_log_seq } = await server.door().signIns.read({ body: { code: nobody } })
      assert.deepEqual([key_log, key_log_seq], [[], null])
    })

    test('the last page of a roster comes with the key logs', async (t) => {
      const server = await opened(t, { entries: 2, characters: 100_000 })
      const { id: connection, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const { entries } = await ada.account.rosters.read({ connection })
      assert.equal(entries.length, 2)
      await make(ada, connection, { op: 'role', member: bob.id, role: 'owner' })
      const first = await bob.account.rosters.read({ connection })
      assert.deepEqual([first.entries, first.seq, first.key_logs], [entries, 2, []])
      const last = await bob.account.rosters.read({ connection, from: 2 })
      assert.deepEqual([last.entries.length, last.seq], [1, 2])
      const named = last.key_logs.map(({ account }) => account)
      assert.deepEqual(named.toSorted(), [ada.id, bob.id].toSorted())
    })
  })
}
