/**
 * The files of the documentation page, under names that say their content: a browser keeps them for good. The page names the hash of
 * each, so that a browser runs nothing else under these names, whoever had this port before and whatever was kept from then.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { asset } from '../../runtime/assets.ts'
import { AppError } from '../../errors.ts'
import type { DocsHandlers } from '../context.ts'

const inflate = promisify(gunzip)

const JS = 'text/javascript; charset=utf-8'
const CSS = 'text/css; charset=utf-8'

/** What the page is made of: what it is called there, and in `dist/`. */
const SOURCES = {
  reference: { stem: 'reference', ext: 'js', type: JS, built: 'pages/reference.js.gz' },
  start: { stem: 'start', ext: 'js', type: JS, built: 'pages/docs.js' },
  style: { stem: 'style', ext: 'css', type: CSS, built: 'pages/docs.css' },
} as const

export interface DocsFile {
  /** The last segment of its path. */
  readonly name: string
  readonly type: string
  /** What a browser holds its content against (Subresource Integrity). */
  readonly integrity: string
  readonly bytes: Uint8Array
  readonly gzipped: boolean
}
export type DocsFiles = Readonly<Record<keyof typeof SOURCES, DocsFile>>

async function fileOf({ stem, ext, type, built }: (typeof SOURCES)[keyof typeof SOURCES]) {
  const bytes = asset(built)
  const gzipped = built.endsWith('.gz')
  const hash = createHash('sha256').update(gzipped ? await inflate(bytes) : bytes)
  const integrity = `sha256-${hash.copy().digest('base64')}`
  const name = `${stem}.${hash.digest('hex').slice(0, 16)}.${ext}`
  return { name, type, integrity, bytes, gzipped }
}

async function load(): Promise<DocsFiles | null> {
  try {
    const [reference, start, style] = await Promise.all([
      fileOf(SOURCES.reference),
      fileOf(SOURCES.start),
      fileOf(SOURCES.style),
    ])
    return { reference, start, style }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** The library for the few that take no gzip, made once: whoever reads slowly holds what all others hold. */
let plain: Promise<Uint8Array> | undefined

let known: Promise<DocsFiles | null> | null = null

/** The files of the page, loaded once, however many ask; null where `dist/` lacks one of them, which somebody may build while this runs. */
export async function docsFiles(): Promise<DocsFiles | null> {
  const loading = (known ??= load())
  try {
    const files = await loading
    if (files === null && known === loading) known = null
    return files
  } catch (error) {
    if (known === loading) known = null
    throw error
  }
}

/** RFC 9110 section 12.5.3: whether an Accept-Encoding takes gzip. */
const takesGzip = (accepted: string): boolean =>
  accepted
    .split(',')
    .some((coding) => /^\s*(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(coding))

export const files: DocsHandlers['docsFiles'] = {
  read: async ({ name }, context) => {
    const file = Object.values((await docsFiles()) ?? {}).find((it) => it.name === name)
    if (file === undefined)
      throw new AppError('not_found', 'There is no such file here. Reload GET /api/v1/docs.')
    const { type, bytes, gzipped } = file
    const kept = { 'Cache-Control': 'public, max-age=31536000, immutable' }
    if (!gzipped) return { type, body: bytes, headers: kept }
    const headers = { ...kept, Vary: 'Accept-Encoding' }
    return takesGzip(context.header('accept-encoding') ?? '')
      ? { type, body: bytes, headers: { ...headers, 'Content-Encoding': 'gzip' } }
      : { type, body: await (plain ??= inflate(bytes)), headers }
  },
}
