/**
 * The files of the documentation page.
 *
 * Each file name contains a hash of the content, so browsers may cache the file permanently. The
 * page contains the full hash of each file, so a browser runs no other content under that name. For
 * example, the cache may have a file of another program that used this port.
 */
import { createHash } from 'node:crypto'
import { asset } from '../../runtime/executable.ts'
import { AppError } from '../../errors.ts'
import { cachedFile, inflate } from '../cached-file.ts'
import type { DocsHandlers } from '../context.ts'

const JS = 'text/javascript; charset=utf-8'
const CSS = 'text/css; charset=utf-8'

/** The files of the page: the parts of each public name, and the path in `dist/`. */
const SOURCES = {
  reference: { stem: 'reference', ext: 'js', type: JS, built: 'pages/reference.js.gz' },
  start: { stem: 'start', ext: 'js', type: JS, built: 'pages/docs.js' },
  style: { stem: 'style', ext: 'css', type: CSS, built: 'pages/docs.css' },
} as const

export interface DocsFile {
  /** The last segment of the URL path. */
  readonly name: string
  readonly type: string
  /** The hash that a browser compares with the content (Subresource Integrity). */
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

let known: Promise<DocsFiles | null> | null = null

/**
 * Returns the files of the page, loaded once for all callers; null if a file is missing in `dist/`.
 * After null, the next call tries again, because a build may have added the file.
 */
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

export const files: DocsHandlers['docsFiles'] = {
  read: async ({ name }, context) => {
    const file = Object.values((await docsFiles()) ?? {}).find((it) => it.name === name)
    if (file === undefined)
      throw new AppError('not_found', 'There is no file with this name. Reload GET /api/v1/docs.')
    return cachedFile(file, context)
  },
}
