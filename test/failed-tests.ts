/**
 * A reporter for `node --test` that lists the tests that failed, and nothing else: a run of several
 * parts prints the lists at its end, because the report of a later part hides an earlier one.
 */
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { ROOT } from './node-test.ts'

export default async function* failedTests(events: AsyncIterable<TestEvent>) {
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.todo !== undefined) continue
    const { failureType, cause } = data.details.error as Error & { failureType?: string }
    // A suite fails with its tests, which are listed themselves.
    if (failureType === 'subtestsFailed') continue
    const place = data.file === undefined ? '' : ` (${relative(ROOT, data.file)}:${data.line})`
    const [reason] = String(cause instanceof Error ? cause.message : cause).split('\n')
    yield `✖ ${data.name}${place}: ${reason}\n`
  }
}
