/**
 * The export file: a ZIP that is built page by page while it is being read, so that it is never in
 * memory as a whole.
 */
import { Readable } from 'node:stream'
import { CONTENTS, readme, stepsOf } from './contents.ts'
import type { Source } from './rows.ts'
import { PIECE_BYTES } from './leases.ts'

type Content = (typeof CONTENTS)[number]

/**
 * Called between pages with the progress in percent (0 to 99). If it throws, the build ends with
 * that error.
 */
export type Step = (percent: number) => Promise<void>

/**
 * Yields the JSON text of a file, one page at a time.
 * @param done called with the number of steps that were completed
 */
async function* jsonOf(content: Content, of: Source, done: (rows: number) => Promise<void>) {
  if ('one' in content) {
    yield Buffer.from(`${JSON.stringify(await content.one(of), null, 2)}\n`)
    return done(1)
  }
  let separator = '[\n'
  for await (const rows of content.pages(of)) {
    if (rows.length > 0) {
      yield Buffer.from(separator + rows.map((row) => JSON.stringify(row)).join(',\n'))
      separator = ',\n'
    }
    await done(content.counted === undefined ? 0 : rows.length)
  }
  yield Buffer.from(separator === ',\n' ? '\n]\n' : '[]\n')
  await done(1)
}

/**
 * Yields the bytes of an export file in pieces of PIECE_BYTES. The last piece may be shorter.
 * @param options `at`: when the export is built, Unix milliseconds
 */
export async function* zipOf(
  source: Source,
  { at, step }: { at: number; step: Step },
): AsyncGenerator<Uint8Array> {
  const { ZipFile } = await import('yazl')
  const total = await stepsOf(source)
  let steps = 0
  const done = (more: number) => {
    steps += more
    return step(Math.min(99, Math.floor((100 * steps) / total)))
  }
  const zip = new ZipFile()
  const out = zip.outputStream as Readable
  const options = { mtime: new Date(at), mode: 0o100600 }
  let reading: Readable | undefined
  zip.addBuffer(Buffer.from(readme(source.id, at)), 'README.txt', options)
  for (const content of CONTENTS)
    zip.addReadStreamLazy(content.file, options, (give) => {
      reading = Readable.from(jsonOf(content, source, done), { objectMode: false })
      // The library forwards only bytes, so errors are forwarded here.
      reading.once('error', (error) => out.destroy(error))
      give(null, reading)
    })
  zip.end()
  try {
    yield* inPieces(out)
  } finally {
    reading?.destroy()
    out.destroy()
  }
}

async function* inPieces(bytes: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  let buffered: Buffer[] = []
  let size = 0
  for await (const more of bytes) {
    buffered.push(more)
    size += more.length
    if (size < PIECE_BYTES) continue
    const all = Buffer.concat(buffered)
    let from = 0
    for (; size - from >= PIECE_BYTES; from += PIECE_BYTES)
      yield all.subarray(from, from + PIECE_BYTES)
    buffered = [all.subarray(from)]
    size -= from
  }
  if (size > 0) yield Buffer.concat(buffered)
}
