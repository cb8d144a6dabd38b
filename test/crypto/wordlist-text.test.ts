/** The word list and the tables of Unicode as docs/ publishes them for other implementations. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { LIST_ID, WORDLIST } from '../../src/crypto/wordlist.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const list = readFileSync(join(DOCS, `${LIST_ID}.txt`))
const protocol = readFileSync(join(DOCS, 'protocol.md'), 'utf8')
const sha256 = createHash('sha256').update(list).digest('hex')

test('the published list equals the program’s, byte for byte', () => {
  assert.equal(list.toString('latin1'), WORDLIST)
  assert.match(WORDLIST, /^(?:[a-z]{4,9}\n){4096}$/)
})

test('the protocol names its SHA-256, and no other', () => {
  assert.deepEqual(protocol.match(/\b[0-9a-f]{64}\b/g), [sha256])
})

test('the protocol names this Unicode version for NFKC and \\p{L}, and no other', () => {
  const named = new Set([...protocol.matchAll(/Unicode (\d+\.\d+)/g)].map(([, version]) => version))
  assert.deepEqual([...named], [process.versions['unicode']])
})
