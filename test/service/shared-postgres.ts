/**
 * Databases on the one PostgreSQL of a run, which `test/setup.ts` starts when the first test file
 * asks for it. Each is a copy of a migrated database, which takes a tenth of the time of the
 * migration, and is dropped after the tests of its file.
 */
import { randomUUID } from 'node:crypto'
import { after } from 'node:test'
import pg from 'pg'
import { MIGRATED, POSTGRES_OFFER } from './offered.ts'

async function findServer(): Promise<string> {
  const address = process.env[POSTGRES_OFFER]
  if (address === undefined)
    throw new Error('There is no PostgreSQL: run the tests with --test-global-setup=test/setup.ts.')
  const answer = await fetch(address)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}

let server: Promise<string> | undefined

async function query(statement: string): Promise<void> {
  const client = new pg.Client(await (server ??= findServer()))
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

const names: string[] = []

after(async () => {
  for (const name of names) await query(`drop database ${name} with (force)`)
})

async function create(template: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '_')}`
  await query(`create database ${name} template ${template}`)
  names.push(name)
  const url = new URL(await server!)
  url.pathname = name
  return url.href
}

/** Creates a migrated database and returns its URL. */
export const newDatabase = (): Promise<string> => create(MIGRATED)

/**
 * Creates a database without tables and returns its URL. It sorts by language, as the migrated one
 * does, and not by bytes.
 */
export const emptyDatabase = (): Promise<string> =>
  create(`template0 locale_provider icu icu_locale 'en-US'`)
