import { AppError } from '../../../errors.ts'
import { itemLine } from '../../collection.ts'
import { type Api, type Command, UsageError } from '../../command.ts'
import { shown } from '../../table.ts'

export const orgCreate: Command = {
  usage: 'NAME [--json]',
  help: `
Creates an organisation, with you as its owner. To make it the current organisation of this device, use
"countersignd org use". To create machine accounts in it, use "countersignd machine create".`,
  args: [1, 1],
  async run({ args: [name = ''], withApi, print, say }) {
    const made = await withApi((api) => api.organisations.create({ body: { name } }))
    print(made, itemLine(made))
    say(`To make it the current organisation of this device: countersignd org use ${made.id}`)
  },
}

/**
 * Finds one of the user's organisations by id or name, and returns its id.
 * @throws AppError `not_found`; `invalid_state` if several organisations have the name
 */
export async function organisationId(api: Api, named: string): Promise<string> {
  const { organisations } = await api.context.read({})
  const found = organisations.filter(({ id, name }) => id === named || name === named)
  const [only, ...more] = found
  if (only !== undefined && more.length === 0) return only.id
  if (only !== undefined)
    throw new AppError(
      'invalid_state',
      `Several of your organisations are called "${shown(named)}". Give the id of one of them: ${found.map(({ id }) => id).join(' or ')}.`,
    )
  const mine = organisations.map(({ id, name }) => `${id} ("${shown(name)}")`)
  throw new AppError(
    'not_found',
    `You are not a member of an organisation "${shown(named)}". ` +
      (mine.length === 0
        ? 'To create one, use "countersignd org create".'
        : `Your organisations: ${mine.join(', ')}. To create another one, use "countersignd org create".`) +
      ' If you are suspended in the organisation, ask one of its owners or admins to activate you.',
  )
}

export const orgUse: Command = {
  usage: 'ID|NAME | --none [--json]',
  help: `
Chooses the current organisation of this device. The "countersignd org …" commands work in the current organisation.
Your other devices keep their own choice. The choice lasts until the device signs in again.

  --none   have no current organisation`,
  options: { none: { type: 'boolean' } },
  args: [0, 1],
  async run({ args: [named], options, withApi, print, say }) {
    if ((named === undefined) !== (options['none'] === true))
      throw new UsageError('Give the id or name of an organisation, or --none.')
    const context = await withApi(async (api) => {
      const organisation_id = named === undefined ? null : await organisationId(api, named)
      return api.context.activeOrg({ body: { organisation_id } })
    })
    print(context, [])
    const { active_organisation: active } = context
    say(
      active === undefined
        ? 'This device has no current organisation now.'
        : `The current organisation of this device is now "${shown(active.name)}". Your role: ${active.role}.`,
    )
  },
}
