/**
 * Turns recorded calls into examples of the document: short, the same at each recording, and
 * without a secret. Values that differ between runs are numbered in the order in which they
 * appear; values that are already numbered stay.
 */
import { hostname } from 'node:os'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import type { Example, Examples } from '../../src/api/openapi/examples.ts'
import type { Json } from './caller.ts'
import type { Recorded } from './documented.ts'

/** The time of all examples. */
export const THEN = Date.parse('2026-01-31T09:30:00.000Z')
const [MINUTE, QUARTER, DAY] = [60_000, 900_000, 86_400_000]

/** The state folder in examples. */
export const FOLDER = '/home/ada/.local/state/countersign'

/** The address and the state folder of a recording, and its start in Unix milliseconds. */
export interface Where {
  readonly address: string
  readonly stateDir: string
  readonly since: number
}

/** The number of items that represent a list. */
const ITEMS = 2
const LONGEST = 400

const EXAMPLE = 'example'.repeat(13)
/** 1,216 bytes. */
const SEAL_KEY = 'example'.repeat(232).slice(0, 1621) + 'A'
const TOKEN = EXAMPLE.slice(0, 35) + '0'
/** A header with the algorithm, and a placeholder for the signature. */
const JWS = `eyJhbGciOiJFZDI1NTE5In0.eyJleGFtcGxlIjp0cnVlfQ.${EXAMPLE.slice(0, 85)}A`

/** Returns a function that numbers values from 1; equal values get the same number. */
function numbering() {
  const known = new Map<string, number>()
  return (what: string): number => {
    const number = known.get(what) ?? known.size + 1
    known.set(what, number)
    return number
  }
}

function newNames() {
  const ids = new Map<string, ReturnType<typeof numbering>>()
  const [words, numbers, keys, hashes] = [numbering(), numbering(), numbering(), numbering()]
  return {
    id(prefix: string, body: string): string {
      const number = ids.get(prefix) ?? numbering()
      ids.set(prefix, number)
      return `${prefix}_01kg9r5w00${String(number(body)).padStart(16, '0')}`
    },
    words(text: string): string {
      const at = words(text) * 97
      const all = [at, at + 1013, at + 1511, at + 2017].map((one) => one % 4096)
      return wordsAt(all.slice(0, text.split(' ').length)).join(' ')
    },
    safetyNumber: (text: string) =>
      Array.from({ length: 12 }, (_, i) => String(numbers(text) * 12345 + i * 4321)).join(' '),
    /** 32 bytes in hexadecimal digits. */
    hash: (text: string) => String(hashes(text)).padStart(4, '0').repeat(16),
    /** 32 bytes in base64url. */
    key: (text: string) => `${EXAMPLE.slice(0, 35)}KEY${String(keys(text)).padStart(4, '0')}A`,
  }
}

/**
 * Returns a function that moves times to the same distance from `THEN` as from the recording’s
 * start, in quarters of an hour. Times at the edge of a day keep their time of day.
 */
function timesSince(since: number) {
  const day = (unixMs: number) => Math.floor(unixMs / DAY)
  return (text: string, key: string): string => {
    const at = Date.parse(text)
    const ofDay = ((at % DAY) + DAY) % DAY
    const isEdge = ofDay === 0 || ofDay === DAY - 1
    const shifted = isEdge
      ? (day(THEN) + day(at) - day(since)) * DAY + ofDay
      : key === 'valid_until'
        ? THEN + MINUTE
        : THEN + Math.round((at - since) / QUARTER) * QUARTER
    return new Date(shifted).toISOString().slice(0, text.length)
  }
}

/** Returns a list in an order that no random id decides: members are listed by the id. */
const ordered = (list: readonly Json[], key: string): readonly Json[] =>
  key === 'members'
    ? list.toSorted((a, b) => String(a.display_name).localeCompare(String(b.display_name)))
    : list

function normaliser({ address, stateDir, since }: Where) {
  const names = newNames()
  const timeOf = timesSince(since)
  const NUMBERS: Readonly<Record<string, number>> = {
    uptime_s: 86_400,
    window: THEN / MINUTE,
    size_bytes: 18_432,
    line: 1024,
    lines: 1024,
    peer_uid: 1000,
  }
  const hostOf = (host: string) =>
    `http://127.0.0.1:${host === address || host.endsWith(':19821') ? 19821 : 19822}`

  function text(value: string, key: string): string {
    if (value === hostname()) return 'laptop'
    if (key === 'words') return names.words(value)
    if (key === 'word') return wordsAt([THEN % 4096]).join()
    if (key === 'root' || key === 'head') return names.hash(value)
    if (key === 'request_id') return 'kn4x-3'
    // The number of the last line.
    if (key === 'next_cursor') return encodeBase64url(Buffer.from('1024'))
    if (key === 'safety_number') return names.safetyNumber(value)
    // A QR image contains the secret link.
    if (value.startsWith('<')) return `${value.slice(0, value.search(/ viewBox|\n|…/))}…`
    if (/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(value)) return JWS
    if (/^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(value)) return timeOf(value, key)
    if (/^[\w-]{1622}$/.test(value)) return SEAL_KEY
    const named = value
      .replaceAll(stateDir, FOLDER)
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, hostOf)
      .replace(/http:\/\/localhost:\d+/g, 'http://localhost:8080')
      .replace(/\bwhsec_[\w+/]{43}=/g, `whsec_${EXAMPLE.slice(0, 42)}A=`)
      .replace(/\b(cs[dm])_\w{36}\b/g, `$1_${TOKEN}`)
      .replace(/\b([a-z]{3})_([0-7][0-9a-hjkmnp-tv-z]{25})\b/g, (_, prefix: string, body: string) =>
        names.id(prefix, body),
      )
      .replace(/(?<![\w-])[\w-]{43}(?![\w-])/g, names.key)
      .replace(/\bexpires=\d+/g, `expires=${THEN / 1000 + 3600}`)
    return named.length > LONGEST ? `${named.slice(0, LONGEST - 1).trimEnd()}…` : named
  }

  return function normal(value: unknown, key = ''): unknown {
    if (typeof value === 'string') return text(value, key)
    if (typeof value === 'number') return NUMBERS[key] ?? value
    if (Array.isArray(value))
      return ordered(value, key)
        .slice(0, ITEMS)
        .map((one) => normal(one, key))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, normal(inner, name)]),
    )
  }
}

const queryOf = (query: string) =>
  Object.fromEntries(
    [...new URLSearchParams(query)].map(([name, value]) => [
      name,
      /^\d+$/.test(value) ? Number(value) : value,
    ]),
  )

/** A complete document in itself would never end. */
const shortOf = (reply: Json): unknown =>
  typeof reply?.openapi === 'string' ? { openapi: reply.openapi } : reply

function exampleOf({ call: { params, query, body }, type, reply }: Recorded): Example {
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { query: queryOf(query) }),
    ...(body === undefined ? {} : { body }),
    ...(type === undefined ? {} : { type, reply: shortOf(reply) }),
  }
}

/** Returns the examples without traces of the place and time of their recording. */
export const normalised = (examples: Examples, where: Where): Examples =>
  normaliser(where)(examples) as Examples

/** Returns the recorded examples, by group and row. */
export function examplesOf(recorded: readonly Recorded[], where: Where): Examples {
  const rows = recorded.filter(({ id }) => !id.endsWith('_unversioned'))
  return normalised(Object.fromEntries(rows.map((one) => [one.id, exampleOf(one)])), where)
}

/**
 * Returns the names of all members in a value, without their values: two examples of a kind have
 * the same.
 */
export function formOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [formOf(value[0])]
  if (typeof value !== 'object' || value === null) return null
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, formOf(inner)]),
  )
}
