/** The language of pages over HTTP: the header fields, and the document. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAccountServer } from '../account-server.ts'

const PATHS = ['/', '/g/x', '/s/x', '/o/no-such-link', `/confirm/${'A'.repeat(43)}`]

test('every page has the language of the request, and caches must not confuse languages', async (t) => {
  const server = await startAccountServer(t)
  for (const path of PATHS)
    for (const [languages, tag] of [
      [undefined, 'en'],
      ['fr', 'en'],
      ['de-AT, en;q=0.7', 'de'],
      ['x'.repeat(8000), 'en'],
    ] as const) {
      const headers = languages === undefined ? {} : { 'Accept-Language': languages }
      const { headers: own, text } = await server.request('GET', path, { headers })
      assert.equal(own['content-language'], tag, path)
      assert.equal(own['vary'], 'Accept-Language', path)
      assert.equal(own['cache-control'], 'no-store', path)
      assert.match(text, new RegExp(`<html lang="${tag}">`), path)
    }
})

test('errors for programs stay English', async (t) => {
  const server = await startAccountServer(t)
  const { text } = await server.request('GET', '/s/x/file', {
    headers: { 'Accept-Language': 'de' },
  })
  assert.match(text, /There is no such stamp/)
})
