import { setTimeout } from 'node:timers/promises'
import { every } from '../../api/cursor.ts'
import type { Export } from '../../api/rest/account.ts'
import { AppError } from '../../errors.ts'
import { type Download, download } from '../../remote/download.ts'
import { readAuthority } from '../../remote/transport.ts'
import { byId } from '../by-id.ts'
import { listCommand } from '../collection.ts'
import { type Api, type Command, type Invocation, type Io, UsageError } from '../command.ts'
import { printLabelled } from '../labels.ts'
import { requireNew, writeNew } from '../new-file.ts'
import { coloured } from '../output.ts'
import { when, whenOr } from '../times.ts'

const WIDTH = 30

/** A bar that shows the progress of a long operation on a terminal. Elsewhere it shows nothing. */
interface ProgressBar {
  /** @param percent 0 to 100 */
  show(percent: number): void
  /** Ends the bar: it stays visible, and output continues on the next line. */
  end(): void
}

/**
 * Returns a progress bar.
 * @param quiet whether the output is for a script, so that no bar is shown
 * @param what the name of the operation, shown before the bar
 */
export function newProgressBar(
  { stderr, env, quiet }: Pick<Io, 'stderr' | 'env'> & { quiet: boolean },
  what: string,
): ProgressBar {
  // A terminal that cannot return to the start of a line would show each step on a new line.
  if (quiet || stderr.isTTY !== true || env['TERM'] === 'dumb')
    return { show: () => undefined, end: () => undefined }
  let shown = ''
  return {
    show: (percent) => {
      const done = Math.floor((Math.min(Math.max(percent, 0), 100) / 100) * WIDTH)
      const bar =
        coloured('green', '#'.repeat(done), { stream: stderr, env }) + '-'.repeat(WIDTH - done)
      const line = `${what} [${bar}] ${String(Math.floor(percent)).padStart(3)} %`
      if (line !== shown) stderr.write(`\r${line}`)
      shown = line
    },
    end: () => {
      if (shown !== '') stderr.write('\n')
    },
  }
}

const OUTPUT = '--output'

/**
 * The interval between two polls of an export: the first one, its growth factor, and the maximum.
 */
const PACE = { firstMs: 100, growth: 1.5, mostMs: 2_000 } as const

const listed = ({ exports }: Api) => every((query) => exports.list(query))

const isRunning = ({ state }: Export) => state === 'queued' || state === 'building'

/**
 * Checks that the file of an export can be downloaded: the account server inside a daemon listens
 * only while the daemon runs.
 * @param command the command to run again
 * @throws AppError `backend_unavailable`
 */
async function requireServer(api: Api, hasDaemon: boolean, command: string): Promise<void> {
  if (hasDaemon || (await api.status.read({})).environment !== 'embedded') return
  throw new AppError(
    'backend_unavailable',
    `An export needs the daemon. Start it ("countersignd serve"), then run "countersignd ${command}".`,
  )
}

/**
 * Requests an export and returns its id. If an export is already being built, returns its id.
 */
async function begun(api: Api): Promise<string> {
  try {
    return (await api.exports.create({})).id
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'conflict') throw error
    const running = (await listed(api)).find(isRunning)
    if (running === undefined) throw error
    return running.id
  }
}

/**
 * Waits until an export is built.
 * @throws AppError if the export failed or was deleted
 */
async function built(api: Api, id: string, show: (percent: number) => void): Promise<Export> {
  for (let pause: number = PACE.firstMs; ; pause = Math.min(pause * PACE.growth, PACE.mostMs)) {
    const one = (await listed(api)).find((some) => some.id === id)
    if (one === undefined)
      throw new AppError('not_found', 'The export was deleted while it was being built.')
    show(one.progress)
    if (one.state === 'ready') return one
    if (!isRunning(one)) throw new AppError('internal', one.error ?? 'The export was not built.')
    await setTimeout(pause)
  }
}

const fileOf = (option: string | boolean | undefined, day: string): string =>
  option === undefined ? `countersign-export-${day.slice(0, 10)}.zip` : String(option)

/**
 * Checks that a link leads to the file of the export, in case the account server returns another.
 * @throws AppError `backend_error`
 */
function requireLink(url: string, id: string): void {
  if (URL.parse(url)?.pathname.endsWith(`/exports/${id}`) === true) return
  throw new AppError(
    'backend_error',
    'The account server returned a link that does not lead to the export. Ask the operator of the account server.',
  )
}

/**
 * Yields the bytes of a download and shows the progress.
 * @throws AppError unless there are exactly `size` bytes
 */
async function* counted({ bytes }: Download, size: number, show: (percent: number) => void) {
  let seen = 0
  for await (const some of bytes) {
    seen += some.length
    if (seen > size) break
    show((100 * seen) / size)
    yield some
  }
  if (seen !== size)
    throw new AppError(
      'backend_error',
      `The size of the downloaded file is not the size of the export (${size} bytes). Try again.`,
    )
}

/** Downloads a finished export into a new file. */
async function fetched(
  { io, config, json }: Invocation,
  { id, size_bytes: size }: Pick<Export, 'id' | 'size_bytes'>,
  { url, path }: { url: string; path: string },
): Promise<void> {
  requireLink(url, id)
  const bar = newProgressBar({ ...io, quiet: json }, 'Downloading')
  const ca = readAuthority(config().caFile)
  try {
    const file = await download({ url, type: 'application/zip', ca })
    try {
      await writeNew(
        path,
        counted(file, size ?? 0, (percent) => bar.show(percent)),
        OUTPUT,
      )
    } finally {
      file.close()
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError(
      error.code,
      `${error.message} The export is kept on the server. To download it, run "countersignd export download ${id}".`,
      { cause: error },
    )
  } finally {
    bar.end()
  }
}

const showFile = (invocation: Invocation, one: Export, path: string): void =>
  printLabelled(
    invocation,
    { ...one, file: path },
    { bare: path, rows: [['File', path]], details: [['Size', `${one.size_bytes} bytes`]] },
  )

export const exportCommand: Command = {
  usage: '[create] [--output FILE] [--json]',
  help: `
Requests a copy of all data that the account server stores about you, waits until it is built, and downloads it. The
export is a ZIP file of JSON files, with a text that explains each file. If the command is interrupted, the server
continues to build the export: "countersignd export list" shows its state, and "countersignd export download ID"
downloads it. The server keeps an export for seven days.

The export does not contain data that only your devices store: secrets, private keys, and the names and checks of a
device.

  --output FILE   the new file for the export (default: countersign-export-DATE.zip in the current folder)`,
  examples: {
    export: 'write a ZIP file with your data',
    'export --output data.zip': 'choose the file',
  },
  options: { output: { type: 'string' } },
  args: [0, 1],
  async run(invocation) {
    const { args, options, io, json, withApi, say } = invocation
    const [word] = args
    if (word !== undefined && word !== 'create')
      throw new UsageError(`"export" can only be followed by list, download, delete or create.`)
    const path = fileOf(options['output'], new Date().toISOString())
    requireNew(path, OUTPUT)
    const bar = newProgressBar({ ...io, quiet: json }, 'Exporting  ')
    const { ready, url } = await withApi(async (api, hasDaemon) => {
      await requireServer(api, hasDaemon, 'export')
      try {
        const one = await built(api, await begun(api), (percent) => bar.show(percent))
        return { ready: one, url: (await api.exports.download({ id: one.id })).url }
      } finally {
        bar.end()
      }
    })
    await fetched(invocation, ready, { url, path })
    showFile(invocation, ready, path)
    say('It contains personal data: keep it safe.')
  },
}

export const exportList = listCommand({
  help: 'Lists exports, newest first.',
  work: (api, query) => api.exports.list(query),
  heading: ['ID', 'STATE', 'REQUESTED', 'BYTES', 'KEPT UNTIL'],
  row: ({ id, state, progress, size_bytes, created_at, expires_at }) => [
    id,
    state === 'building' ? `building, ${progress} %` : state,
    when(created_at),
    size_bytes === null ? '' : String(size_bytes),
    whenOr('', expires_at),
  ],
})

export const exportDownload: Command = {
  usage: 'EXPORT [--output FILE] [--json]',
  help: `
Downloads a finished export.

  --output FILE   the new file for the export (default: countersign-export-DATE.zip in the current folder)`,
  options: { output: { type: 'string' } },
  args: [1, 1],
  takes: ['export'],
  async run(invocation) {
    const { args, options, withApi } = invocation
    const [id = ''] = args
    const { one, url } = await withApi(async (api, hasDaemon) => {
      await requireServer(api, hasDaemon, `export download ${id}`)
      return byId('export', async () => {
        const link = await api.exports.download({ id })
        const found = (await listed(api)).find((some) => some.id === id)
        return { one: found, url: link.url }
      })
    })
    if (one === undefined) throw new AppError('not_found', 'The export was deleted.')
    const path = fileOf(options['output'], one.finished_at ?? one.created_at)
    requireNew(path, OUTPUT)
    await fetched(invocation, one, { url, path })
    showFile(invocation, one, path)
  },
}

export const exportDelete: Command = {
  usage: '[--json]',
  help: 'Deletes all exports from the account server, finished or not. Files that you have downloaded are kept.',
  args: [0, 0],
  async run({ withApi, print, say }) {
    const { deleted } = await withApi((api) => api.exports.clear({}))
    print({ deleted }, [])
    say(`Deleted ${deleted} ${deleted === 1 ? 'export' : 'exports'}.`)
  },
}
