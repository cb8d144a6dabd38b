/** Compares the index of codes with a plain scan, for any changes at any time. */
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { codeUnder } from '../../../src/crypto/code.ts'
import { KEPT_WORDS, keepKey } from '../../../src/crypto/kept-hmac.ts'
import { newCodeIndex } from '../../../src/device/codes/code-index.ts'
import { newCodeTable, newIdMap } from '../../../src/device/codes/code-table.ts'
import { keyOf } from '../bench.ts'

const never = () => false
const speakerOf = (n: number): Uint8Array => keyOf(`speaker ${n}`).subarray(0, 16)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** Computes a code by protocol section 2, independently of the code under test. */
function macCode(kc: Uint8Array, window: number, speaker: Uint8Array): number {
  const message = Buffer.alloc(25, 1)
  message.writeBigUInt64BE(BigInt(window), 1)
  message.set(speaker, 9)
  const mac = createHmac('sha256', kc).update(message).digest()
  return mac.readUIntBE(0, 5) / 16 - (mac[4]! & 15) / 16
}

test('a code is the start of an HMAC, at every position of its key and speaker', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.maxSafeNat(),
      fc.nat(3),
      (kc, speaker, window, place) => {
        const midstates = new Uint32Array(randomBytes(4 * KEPT_WORDS * 4).buffer, 0, 4 * KEPT_WORDS)
        keepKey(kc, midstates, place * KEPT_WORDS)
        const speakers = Buffer.concat([randomBytes(place), speaker, randomBytes(3)])
        const code = codeUnder(midstates, place * KEPT_WORDS, window, speakers, place)
        assert.equal(code, macCode(kc, window, speaker))
      },
    ),
  )
})

/** Returns codes that often collide: some wholly, some in all bits but the first four. */
function crowded(kc: number, window: number, speaker: number): number {
  const mixed = Math.imul(kc ^ Math.imul(speaker, 0x9e3779b1), 0x85ebca6b) ^ (window * 77)
  return ((mixed >>> 8) % 7) + ((mixed >>> 20) % 3) * 2 ** 32
}

/** The first bytes of a key and a speaker identify them. */
const crowdedRead: typeof codeUnder = (midstates, at, window, speakers, from) =>
  crowded(midstates[at]!, window, new DataView(speakers.buffer).getUint32(from))

interface Known {
  readonly kc: Uint8Array
  readonly speakers: readonly number[]
}

/** Computes the expected result of the index from everything. */
function scan(
  known: ReadonlyMap<string, Known>,
  wanted: readonly number[],
  codeOf: (kc: Uint8Array, window: number, speaker: Uint8Array) => number,
) {
  const entries: [line: string, code: number][] = []
  for (const [id, { kc, speakers }] of known)
    for (const speaker of speakers.map(speakerOf))
      for (const window of wanted)
        entries.push([`${id} ${hex(speaker)} ${window}`, codeOf(kc, window, speaker)])
  return (code: number) =>
    entries
      .filter(([, one]) => one === code)
      .map(([line]) => line)
      .toSorted()
}

const Speakers = fc.uniqueArray(fc.nat(40), { maxLength: 5 })
const Change = fc.oneof(
  fc.record({ kind: fc.constant('put'), n: fc.nat(30), key: fc.nat(9), speakers: Speakers }),
  fc.record({ kind: fc.constant('remove'), n: fc.nat(30) }),
  // So many at once that several steps are needed, and the tables become too small.
  fc.record({ kind: fc.constant('many'), from: fc.nat(400), count: fc.nat(300) }),
  fc.record({ kind: fc.constant('fewer'), from: fc.nat(400), count: fc.nat(300) }),
  fc.record({ kind: fc.constant('prepare'), steps: fc.nat(6), ahead: fc.boolean() }),
  fc.record({ kind: fc.constant('turn'), by: fc.constantFrom(1, 1, 1, 2, -1, -120, 500) }),
  fc.record({ kind: fc.constant('find'), code: fc.nat(6), first: fc.nat(2) }),
)

for (const [name, read, codeOf, runs] of [
  [
    'colliding codes',
    crowdedRead,
    (kc: Uint8Array, window: number, speaker: Uint8Array) => {
      const midstates = new Uint32Array(KEPT_WORDS)
      keepKey(kc, midstates, 0)
      return crowded(midstates[0]!, window, Buffer.from(speaker).readUInt32BE())
    },
    150,
  ],
  ['real codes', codeUnder, macCode, 40],
] as const)
  test(`the index returns the same as a scan: ${name}`, () => {
    fc.assert(
      fc.property(fc.array(Change, { maxLength: 25 }), (changes) => {
        const index = newCodeIndex(read)
        const known = new Map<string, Known>()
        let window = 1000
        const accepted = () => [window - 1, window, window + 1]

        function put(id: string, one: Known): void {
          known.set(id, one)
          index.put(
            id,
            one.kc,
            one.speakers.map((n) => speakerOf(n)),
          )
        }
        function remove(id: string): void {
          known.delete(id)
          index.remove(id)
        }
        function agree(codes: readonly number[]): void {
          const expected = scan(known, accepted(), codeOf)
          for (const code of codes)
            assert.deepEqual(
              index
                .find(code, accepted())
                .map((entries) => `${entries.id} ${hex(entries.speaker)} ${entries.window}`)
                .toSorted(),
              expected(code),
            )
          assert.equal(index.size(), known.size)
        }
        /** Returns current codes, and one of an earlier window. */
        function entries(): number[] {
          const [id] = known.keys()
          const one = id === undefined ? undefined : known.get(id)
          const [speaker] = one?.speakers ?? []
          if (one === undefined || speaker === undefined) return []
          return [-2, -1, 0, 1, 2].map((drift) =>
            codeOf(one.kc, window + drift, speakerOf(speaker)),
          )
        }

        for (const change of changes)
          if (change.kind === 'put')
            put(`s${change.n}`, { kc: keyOf(`${change.key}`), speakers: change.speakers })
          else if (change.kind === 'remove') remove(`s${change.n}`)
          else if (change.kind === 'many')
            for (let n = change.from; n < change.from + change.count; n++)
              put(`m${n}`, { kc: keyOf(`${n % 11}`), speakers: [n % 41, (n + 1) % 41] })
          else if (change.kind === 'fewer')
            for (let n = change.from; n < change.from + change.count; n++) remove(`m${n}`)
          else if (change.kind === 'prepare') {
            let steps = 0
            index.prepare(
              change.ahead ? [...accepted(), window + 2] : accepted(),
              () => ++steps >= change.steps,
            )
          } else if (change.kind === 'turn') window += change.by
          else agree([change.code + change.first * 2 ** 32, ...entries()])
        agree(entries())
      }),
      { numRuns: runs },
    )
  })

test('each step is small, however large the task, and brings the end nearer', () => {
  let computed = 0
  const index = newCodeIndex((...of) => {
    computed++
    return codeUnder(...of)
  })
  for (let n = 0; n < 500; n++) index.put(`s${n}`, keyOf('k'), [speakerOf(n), speakerOf(n + 1)])
  assert.equal(computed, 0, 'nothing is computed before somebody wants it')
  const wanted = [9, 10, 11]
  let steps = 1
  for (; !index.prepare(wanted, () => true); steps++) {
    assert(computed <= 128, `${computed} codes in one step`)
    computed = 0
  }
  assert.equal(steps, 3 * Math.ceil(1000 / 128) + 1)
  computed = 0
  assert(index.prepare(wanted, never))
  index.find(1, wanted)
  assert.equal(computed, 0, 'and never twice')
})

test('a prepared window is kept until another one needs its place', () => {
  let computed = 0
  const index = newCodeIndex((...of) => {
    computed++
    return codeUnder(...of)
  })
  index.put('s1', keyOf('k'), [speakerOf(1)])
  const cost = (wanted: readonly number[]) => {
    computed = 0
    index.prepare(wanted, never)
    return computed
  }
  assert.deepEqual(
    [
      [4, 5, 6],
      [4, 5, 6, 7],
      [5, 6, 7],
      [6, 7, 8],
      [5, 6, 7],
      [50, 51, 52],
      [51, 52, 53],
    ].map(cost),
    [3, 1, 0, 1, 0, 3, 1],
  )
})

test('a subject that is put repeatedly takes no more space, and leaves no key behind', () => {
  const pages = new Set<Uint32Array>()
  const index = newCodeIndex((midstates, ...of) => {
    pages.add(midstates)
    return codeUnder(midstates, ...of)
  })
  const speakers = [speakerOf(1), speakerOf(2)]
  for (let n = 0; n < 3000; n++) {
    index.put('s1', keyOf(`${n}`), speakers)
    if (n % 1000 === 0) index.prepare([4, 5, 6], never)
  }
  const entries = index.find(macCode(keyOf('2999'), 5, speakerOf(2)), [4, 5, 6])
  assert.deepEqual(
    entries.map(({ id, window }) => [id, window]),
    [['s1', 5]],
  )
  assert.deepEqual([index.size(), index.codes(), pages.size], [1, 2, 1])
  index.remove('s1')
  for (const page of pages) assert(page.every((word) => word === 0))
})

test('a table returns each entry once, also at its edge and when it is full', () => {
  const table = newCodeTable(100)
  const entered = new Map<number, number[]>()
  const room = table.room()
  assert(room >= 100)
  for (let n = 0; n < room; n++) {
    // All in a few clusters, one of them at the end of the table.
    const code = [3, 2 ** 32 + 3, 2 ** 32 - 1, 2 ** 36 - 1, 500][n % 5]!
    entered.set(code, [...(entered.get(code) ?? []), n])
    table.enter(code, n)
    table.enter(code, n)
  }
  assert.equal(table.room(), 0)
  for (const [code, speakers] of entered) {
    const found = table.find(code)
    for (const speaker of speakers) assert.equal(found.filter((one) => one === speaker).length, 1)
  }
  assert.deepEqual(table.find(7), [])
  table.clear()
  assert.deepEqual([table.room(), table.find(3)], [room, []])
})

test('a map by id behaves like a Map', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.stringMatching(/^con_[0-9a-z]{3}$/), fc.option(fc.nat(9)))),
      (changes) => {
        const [map, model] = [newIdMap<number>(), new Map<string, number>()]
        for (const [id, value] of changes) {
          if (value === null) assert.equal(map.delete(id), model.delete(id))
          else {
            map.set(id, value)
            model.set(id, value)
          }
          assert.equal(map.get(id), model.get(id))
          assert.equal(map.size(), model.size)
        }
        for (const [id, value] of model) assert.equal(map.get(id), value)
      },
    ),
  )
})
