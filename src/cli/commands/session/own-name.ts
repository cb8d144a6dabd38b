/** Asks for the name that other people see, while the user has chosen none. */
import { isNameChosen } from '../../../api/rest/names.ts'
import { AppError } from '../../../errors.ts'
import type { Api, Invocation } from '../../command.ts'
import type { Prompt } from '../../prompt.ts'
import { shown } from '../../table.ts'

const QUESTION = 'Your name, as other people see it (press Enter for none): '

/** Returns what other people see while the user has no name. */
const without = (email: string | null): string =>
  `${email === null ? 'Other people see no name of you' : `Other people see ${shown(email)} as your name`}. To choose a name: countersignd profile set --name NAME`

/** Returns whether the account has no other device, on which the user may have been asked. */
const isFirstDevice = async (api: Api): Promise<boolean> =>
  (await api.devices.list({ limit: 2 })).items.length === 1

/**
 * Sets the name of an account that has none: the given one, or at a terminal the answer to a
 * question on its first device.
 * @param given the value of `--name`; undefined if the option was not given
 * @returns whether the user was asked and chose to have no name
 * @throws the errors of the API for the given name
 */
export async function chooseName(
  { io, say, withApi }: Pick<Invocation, 'io' | 'say' | 'withApi'>,
  prompt: Prompt,
  given?: string,
): Promise<boolean> {
  const { user } = await withApi((api) => api.context.read({}))
  const set = (display_name: string) =>
    withApi((api) => api.profile.update({ body: { display_name } }))
  if (isNameChosen(user)) {
    if (given !== undefined && given !== user.display_name)
      say(
        `The name of this account is already ${shown(user.display_name)}. To change it: countersignd profile set --name NAME`,
      )
    return false
  }
  if (given !== undefined) {
    await set(given)
    return false
  }
  if (!prompt.isTerminal || !(await withApi(isFirstDevice))) return false
  for (;;) {
    const name = await prompt.ask(QUESTION)
    if (name === null || name === '') {
      say(without(user.email))
      return true
    }
    try {
      const { display_name } = await set(name)
      say(`Other people now see you as ${shown(display_name)}.`)
      return false
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'validation_failed')) throw error
      const [issue] = error.details.issues ?? []
      io.stderr.write(`${shown(issue?.message ?? error.message)}\n`)
    }
  }
}
