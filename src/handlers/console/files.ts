/**
 * The page of the console and its files, as the build writes them to `dist/console`.
 *
 * Each file name contains a hash of the content, and the page contains the full hash of each
 * script. So a browser runs no script that another program left in its cache.
 */
import type { Content } from '../../api/route.ts'
import { AppError } from '../../errors.ts'
import { isMissing } from '../../keychain/private-file.ts'
import { asset } from '../../runtime/executable.ts'
import { cachedFile } from '../cached-file.ts'
import type { ConsoleHandlers, HandlerContext } from '../context.ts'

/** What the build writes about the console. */
interface Manifest {
  /** The Content-Security-Policy of the page. */
  readonly csp: string
  /** The name of the page. */
  readonly index: string
  /** The other files by name. Each is stored with gzip, under its name and `.gz`. */
  readonly files: Readonly<Record<string, { readonly type: string }>>
}

/** The page and the other files of one build. */
interface ConsoleBuild {
  readonly page: Content
  readonly files: ReadonlyMap<string, Parameters<typeof cachedFile>[0]>
}

const stored = (name: string) => asset(`console/${name}`)

function load(): ConsoleBuild | null {
  try {
    const { csp, index, files } = JSON.parse(stored('manifest.json').toString()) as Manifest
    return {
      page: {
        type: 'text/html; charset=utf-8',
        body: stored(index),
        headers: {
          'Content-Security-Policy': csp,
          'Cross-Origin-Opener-Policy': 'same-origin',
        },
      },
      files: new Map(
        Object.entries(files).map(([name, { type }]) => [
          name,
          { type, bytes: stored(`${name}.gz`), gzipped: true },
        ]),
      ),
    }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

let known: ConsoleBuild | null = null

/**
 * Returns the console, loaded once; null if it is not built. After null, the next call tries again,
 * because a build may have added the files.
 */
const consoleBuild = (): ConsoleBuild | null => (known ??= load())

/** Returns the page of the console; null if it is not built. */
export const consolePageContent = (): Content | null => consoleBuild()?.page ?? null

/**
 * Whether a browser itself opens the page (W3C Fetch Metadata), so that it gets this answer. What a
 * service worker requests has another destination, or is a preload.
 */
const isVisit = (context: Pick<HandlerContext, 'header'>): boolean =>
  context.header('sec-fetch-dest') === 'document' &&
  context.header('service-worker-navigation-preload') === undefined

export const consoleEntry: ConsoleHandlers['consoleEntry'] = {
  read: async ({ visit }, context) => {
    if (isVisit(context)) (await context.home.console()).visited(visit)
    const page = consolePageContent()
    if (page === null) throw new AppError('not_found', 'This daemon was built without the console.')
    // The browser may have stored pages of another program under the other paths.
    return { ...page, headers: { ...page.headers, 'Clear-Site-Data': '"cache"' } }
  },
}

export const consoleFiles: ConsoleHandlers['consoleFiles'] = {
  read: async ({ name }, context) => {
    const file = consoleBuild()?.files.get(name)
    if (file === undefined)
      throw new AppError('not_found', 'There is no file with this name. Reload the console.')
    return cachedFile(file, context)
  },
}
