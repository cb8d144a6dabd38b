/** Runs a file of test kit 2 with the second implementation. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { Refused } from './bytes.ts'

/** A case or a whole file, with the fields of the kit's README. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Fields = Readonly<Record<string, any>>
type Check = (of: Fields, file: Fields) => unknown

/** Asserts that a case has exactly these values, as far as it has them. */
export function expectFields(of: Fields, found: Fields): void {
  const names = Object.keys(found).filter((name) => name in of)
  assert.ok(names.length > 0, 'the case says nothing that is compared')
  for (const name of names) assert.deepEqual(found[name], of[name], name)
}

/** Runs a file: `checks` by the kind of the case, or by 'case' where it has none. */
export function run(name: string, checks: Readonly<Record<string, Check>>): void {
  const url = new URL(`../testkit2/${name}`, import.meta.url)
  const file = JSON.parse(readFileSync(url, 'utf8')) as Fields
  describe(name, () => {
    for (const of of file['cases'] as Fields[])
      test(String(of['id']), async () => {
        const check = checks[String(of['kind'] ?? 'case')]!
        const reason = of['reason'] as string | undefined
        assert.equal(reason === undefined, of['accept'] ?? true)
        if (reason === undefined) await check(of, file)
        else
          await assert.rejects(
            async () => check(of, file),
            (error) => {
              assert.ok(error instanceof Refused, String(error))
              assert.equal(error.reason, reason)
              return true
            },
          )
      })
  })
}
