/**
 * Tests bytes that are sealed piece by piece.
 * Every length opens again; changed, moved or cut pieces do not.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { PIECE, Unopened, openStream, sealStream } from '../../src/storage/sealed-stream.ts'

const KEY = randomBytes(32)
const TAG = 16

/** Yields bytes in parts of a given length, as a disk or a network delivers them. */
async function* parts(bytes: Uint8Array, length: number) {
  for (let from = 0; from < bytes.length; from += length) yield bytes.subarray(from, from + length)
}

async function whole(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const some of stream) all.push(some)
  return Buffer.concat(all)
}
const sealed = (plain: Uint8Array, length = 1000) => whole(sealStream(KEY, parts(plain, length)))
const opened = (bytes: Uint8Array, { key = KEY, length = 1000 } = {}) =>
  whole(openStream(key, parts(bytes, length)))

describe('a sealed stream', () => {
  for (const size of [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 5])
    it(`returns ${size} bytes, in any pieces`, async () => {
      const plain = randomBytes(size)
      for (const length of [777, PIECE, PIECE + TAG, 10 * PIECE]) {
        const bytes = await sealed(plain, length)
        assert.equal(bytes.length, size + TAG * Math.max(1, Math.ceil(size / PIECE)))
        assert.deepEqual(await opened(bytes, { length }), plain)
      }
    })

  const SEALED = PIECE + TAG
  const damages: [string, isFirst: boolean, (bytes: Buffer) => Uint8Array][] = [
    ['nothing', true, () => Buffer.alloc(0)],
    ['less than a tag', true, (bytes) => bytes.subarray(0, TAG - 1)],
    ['only the first piece', true, (bytes) => bytes.subarray(0, SEALED)],
    ['all but the last piece', false, (bytes) => bytes.subarray(0, 2 * SEALED)],
    ['all but the last byte', false, (bytes) => bytes.subarray(0, -1)],
    ['an additional byte', false, (bytes) => Buffer.concat([bytes, Buffer.of(0)])],
    ['the last piece repeated', false, (bytes) => Buffer.concat([bytes, bytes.subarray(-21)])],
    ['the first piece left out', true, (bytes) => bytes.subarray(SEALED)],
    [
      'two pieces swapped',
      true,
      (bytes) =>
        Buffer.concat([
          bytes.subarray(SEALED, 2 * SEALED),
          bytes.subarray(0, SEALED),
          bytes.subarray(2 * SEALED),
        ]),
    ],
    ...[0, SEALED - 1, SEALED, 2 * SEALED + 3].map(
      (at): [string, boolean, (bytes: Buffer) => Uint8Array] => [
        `bit 0 of byte ${at} turned`,
        at < SEALED,
        (bytes) => {
          bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
          return bytes
        },
      ],
    ),
  ]
  for (const [what, isFirst, damage] of damages)
    it(`does not open as ${what}`, async () => {
      const bytes = damage(await sealed(randomBytes(2 * PIECE + 5)))
      await assert.rejects(
        opened(bytes),
        (error) => error instanceof Unopened && error.isFirst === isFirst,
      )
    })

  it('does not open with another key', async () => {
    await assert.rejects(opened(await sealed(randomBytes(5)), { key: randomBytes(32) }), Unopened)
  })
})
