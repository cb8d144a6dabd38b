import { AppError, StartError } from '../../errors.ts'
import { type Api, type Command, UsageError } from '../command.ts'
import { openInBrowser } from '../console/opener.ts'
import { consoleUrl, writeConsolePage } from '../console/page.ts'

const noConsole = (cause: AppError) =>
  new AppError(
    cause.code,
    'This daemon has no console, because it runs with SVC_CONSOLE=off. Unset that variable and restart the daemon.',
    { cause },
  )

async function newCode(api: Api, scope: 'read' | 'write' | 'full') {
  try {
    return await api.consoleCodes.create({ body: { scope } })
  } catch (error) {
    throw error instanceof AppError && error.code === 'no_such_route' ? noConsole(error) : error
  }
}

export const openCommand: Command = {
  usage: '[--full | --read] [--print] [--json]',
  help: `
Opens the console of the running daemon in your browser. The console shows your account and can change it. It ends
after 30 minutes without use, after 12 hours, and with "countersignd token revoke ID".

The browser gets a link that works once, within a minute.

  --full    also manage tokens, organisations and devices, for 15 minutes. Then the console may only do what it may
            without this option
  --read    only look
  --print   print the link instead of opening it, for a browser that you start yourself. Through SSH, forward the same
            port: ssh -L 19821:127.0.0.1:19821 HOST

The exit code is 13 if no daemon runs.`,
  examples: {
    open: 'look at your account in a browser',
    'open --full': 'also manage tokens, organisations and devices',
    'open --print': 'print the link for another browser',
  },
  options: { full: { type: 'boolean' }, read: { type: 'boolean' }, print: { type: 'boolean' } },
  args: [0, 0],
  check: ({ options: { full, read } }) => {
    if (full === true && read === true) throw new UsageError('Give --full or --read, not both.')
  },
  run: ({ options, config, io, withApi, print }) =>
    withApi(async (api, hasDaemon) => {
      if (!hasDaemon)
        throw new StartError(
          'noDaemon',
          'The daemon is not running. Start it first: countersignd serve',
        )
      const scope = options['full'] === true ? 'full' : options['read'] === true ? 'read' : 'write'
      const code = await newCode(api, scope)
      const { expires_at } = code
      if (options['print'] === true) {
        const url = consoleUrl(code)
        print({ url, scope, expires_at }, url)
        return
      }
      const file = writeConsolePage(code, config(), io.env['XDG_RUNTIME_DIR'])
      const missing = await openInBrowser(file, io.env)
      if (missing !== null)
        throw new StartError(
          'failed',
          `Cannot open a browser: ${missing} is missing or failed. Run "countersignd open --print", and open the URL in a browser on this machine.`,
        )
      print({ file, scope, expires_at }, [
        `Opening the console in your browser (scope: ${scope}).`,
        'If it does not open: countersignd open --print',
      ])
    }),
}
