/** Reads test kit 2 (test/testkit2/README.md) and runs its cases. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { LABEL } from '../../src/crypto/code.ts'
import { Refusal } from '../../src/crypto/refusal.ts'

export interface Case {
  readonly id: string
  readonly kind?: string
  /** Absent if each case of the kind is accepted, or if `reason` alone marks a refusal. */
  readonly accept?: boolean
  readonly reason?: string
}

/** A case of codes.json; those with `mac: 2` have a listener and a purpose instead of a label. */
export interface CodeCase {
  readonly code: keyof typeof LABEL
  readonly label: string
  readonly key_hex: string
  readonly subject_hex: string
  readonly epoch: number
  readonly head_hex: string
  readonly speaker_hex: string
  readonly window: number
  readonly kc_hex: string
  readonly indices: number[]
  readonly words: string[]
}

export const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
export const hex = (data: Uint8Array) => Buffer.from(data).toString('hex')

/** Returns the cases of a file that `wanted` selects: at least one. */
function casesOf<T>(file: string, wanted: (of: Case) => boolean = () => true): (Case & T)[] {
  const { cases } = readKit<T>(file)
  const those = cases.filter(wanted)
  assert.ok(those.length > 0, `${file} has none of the cases wanted`)
  return those
}

/** Returns a whole file, with the members that its cases share. */
export function readKit<T, Shared = unknown>(file: string): Shared & { cases: (Case & T)[] } {
  const text = readFileSync(new URL(`../testkit2/${file}`, import.meta.url), 'utf8')
  return JSON.parse(text) as Shared & { cases: (Case & T)[] }
}

/**
 * Runs cases of a file, one test each.
 * `check` accepts the case, or refuses it for its reason.
 */
export function run<T>(
  file: string,
  wanted: (of: Case) => boolean,
  check: (of: Case & T) => unknown,
): void {
  const those = casesOf<T>(file, wanted)
  describe(`${file}, ${those[0]!.kind ?? 'cases'}`, () => {
    for (const of of those)
      test(of.id, async () => {
        assert.equal(of.reason === undefined, of.accept ?? true)
        if (of.reason === undefined) {
          await check(of)
          return
        }
        const isReason = (error: unknown) => error instanceof Refusal && error.reason === of.reason
        await assert.rejects(async () => check(of), isReason, `not refused as ${of.reason}`)
      })
  })
}

/** Selects the cases of one kind. */
export const ofKind =
  (kind: string) =>
  (of: Case): boolean =>
    of.kind === kind
