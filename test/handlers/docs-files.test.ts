/** Tests the files of the documentation page under many requests at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { docsFiles } from '../../src/handlers/docs/docs-files.ts'

test('concurrent requests for the documentation read and inflate the files once', async () => {
  const asked = await Promise.all(Array.from({ length: 50 }, docsFiles))
  assert.notEqual(asked[0], null, 'npm run build makes them')
  assert.equal(new Set(asked).size, 1)
})
