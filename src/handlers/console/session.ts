/** The console's way in: codes for the command line, and tokens for browsers. */
import { consoleTable } from '../../api/console/index.ts'
import { AppError } from '../../errors.ts'
import { type ConsoleHandlers, consoleSince } from '../context.ts'

export const consoleCodes: ConsoleHandlers['consoleCodes'] = {
  create: async ({ body: { scope } }, { home }) => {
    if (home.serving()?.api === null)
      throw new AppError(
        'invalid_state',
        'Browsers need TCP, and this daemon listens only on its Unix socket. To use the console, unset SVC_HTTP_PORT=off and restart the daemon.',
      )
    return (await home.console()).createCode(scope)
  },
}

const { method, path } = consoleTable.consoleSession.create

export const consoleSession: ConsoleHandlers['consoleSession'] = {
  create: async ({ body: { code } }, context) => {
    const text = context.header('dpop')
    const access = await context.home.console()
    return access.open({
      code,
      proof: text === undefined ? null : { text, method, path },
      userAgent: context.header('user-agent'),
    })
  },

  delete: async (_, context) => {
    const { home, account, caller } = context
    const id = caller?.token ?? null
    if (id === null || consoleSince(context) === null)
      throw new AppError(
        'forbidden',
        'Only a console can end itself here. DELETE /api/v1/api-tokens/{id} revokes a token.',
      )
    home.tokens.revoke(id)
    await home.tokenLinks.end(account, id)
  },
}
