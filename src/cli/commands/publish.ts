import { reachableFrom } from '../../api/reachable.ts'
import { EXIT, StartError } from '../../errors.ts'
import { type Command, UsageError } from '../command.ts'
import { checkPublication } from '../publish/check.ts'
import { PROXIES, recipeFor } from '../publish/recipes.ts'

const EXAMPLE_HOST = 'sign.example.org'

/** Returns the lines that explain how links become links that others can open. */
function explanation(url: string, upstream: string | null): string[] {
  if (upstream === null)
    return [
      `Your links begin with ${url}, the address of your account server.`,
      reachableFrom(url) === 'network'
        ? 'Others can open them. There is nothing to publish here.'
        : 'That server uses an address of its own machine. Its operator must set SVC_PUBLIC_URL.',
    ]
  if (reachableFrom(url) === 'network')
    return [
      `Your links begin with ${url}.`,
      'To check that others can open them: countersignd publish --check',
    ]
  return [
    `Your links begin with ${url}. Only this machine can open them. To let others open them:`,
    `  1. Put a proxy with TLS in front of ${upstream}. It must pass on only the pages. One of these`,
    '     commands prints its configuration:',
    ...PROXIES.map((proxy) => `       countersignd publish ${proxy} --host ${EXAMPLE_HOST}`),
    `  2. Start the daemon with SVC_PUBLIC_URL=https://${EXAMPLE_HOST}`,
    '  3. Check the result: countersignd publish --check',
    'Never publish the port of the API: through a proxy, everyone could use your account.',
  ]
}

/** Returns the host name for a recipe: that of the public address, if there is one. */
const hostIn = (url: string): string =>
  reachableFrom(url) === 'network' ? new URL(url).hostname : EXAMPLE_HOST

export const publishCommand: Command = {
  usage: `[${PROXIES.join('|')}] [--host NAME] [--check] [--json]`,
  help: `
Explains how others can open your links: the pages of guests, stamps and open links. With the name of a proxy, prints a
configuration for it, which passes on the pages and nothing else.

  --host NAME   the public host name in the configuration (default: that of SVC_PUBLIC_URL)
  --check       send requests to the public address. Exit code 0: it reaches this daemon, and only its pages. Exit code
                1: it does not, and each line is a reason with its remedy

The exit code is 13 if no daemon runs.`,
  examples: {
    publish: 'what to do, step by step',
    'publish caddy --host sign.example.org': 'print the configuration of a proxy',
    'publish --check': 'check that others can open your links',
  },
  options: { host: { type: 'string' }, check: { type: 'boolean' } },
  args: [0, 1],
  check: ({ args: [proxy], options: { check, host } }) => {
    if (proxy !== undefined && !PROXIES.includes(proxy))
      throw new UsageError(`There is no recipe for "${proxy}". Recipes: ${PROXIES.join(', ')}.`)
    if (proxy !== undefined && check === true)
      throw new UsageError('Give a proxy or --check, not both.')
    if (host !== undefined && !/^[a-z0-9.-]+$/i.test(String(host)))
      throw new UsageError(`--host: "${host}" is not a host name, such as ${EXAMPLE_HOST}.`)
  },
  run: ({ args: [proxy], options: { check, host }, withApi, print }) =>
    withApi(async (api, hasDaemon) => {
      if (!hasDaemon)
        throw new StartError(
          'noDaemon',
          'The daemon is not running. Start it first: countersignd serve',
        )
      const { url, account_address: local } = await api.publication.read({})
      if (proxy !== undefined) {
        const recipe = recipeFor(proxy, {
          host: String(host ?? hostIn(url)),
          upstream: local ?? url,
        })
        print({ recipe }, recipe ?? [])
        return EXIT.ok
      }
      if (check !== true || local === null) {
        print(
          { url, account_address: local, reachable: reachableFrom(url) },
          explanation(url, local),
        )
        return EXIT.ok
      }
      const faults =
        reachableFrom(url) === 'this_machine'
          ? [
              `Links begin with ${url}, which only this machine can open. Start the daemon with SVC_PUBLIC_URL.`,
            ]
          : await checkPublication(url, local)
      print(
        { url, ok: faults.length === 0, faults },
        faults.length === 0 ? `${url} reaches this daemon, and only its pages.` : faults,
      )
      return faults.length === 0 ? EXIT.ok : EXIT.failed
    }),
}
