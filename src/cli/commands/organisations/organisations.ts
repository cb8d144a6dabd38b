import { AppError } from '../../../errors.ts'
import { itemLine } from '../../collection.ts'
import { type Api, type Command, UsageError } from '../../command.ts'
import { shown } from '../../table.ts'

export const orgCreate: Command = {
  usage: 'NAME [--json]',
  help: `
Creates an organisation, with you as its owner; "countersignd org use" chooses the one that this device acts in. Organisations have
machine accounts: see "countersignd machine create".`,
  args: [1, 1],
  async run({ args: [name = ''], withApi, print, say }) {
    const made = await withApi((api) => api.organisations.create({ body: { name } }))
    print(made, itemLine(made))
    say(`Act in it on this device: countersignd org use ${made.id}`)
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
      `Several of your organisations are called "${shown(named)}": give the id of one, ${found.map(({ id }) => id).join(' or ')}.`,
    )
  const mine = organisations.map(({ id, name }) => `${id} ("${shown(name)}")`)
  throw new AppError(
    'not_found',
    `You are in no organisation "${shown(named)}". ` +
      (mine.length === 0
        ? '"countersignd org create" makes one.'
        : `Yours: ${mine.join(', ')}. "countersignd org create" makes another.`) +
      ' One in which you are suspended is not among yours: an owner or admin of it can activate you.',
  )
}

export const orgUse: Command = {
  usage: 'ID|NAME | --none [--json]',
  help: `
Chooses the organisation that this device acts in; your other devices keep theirs. It stays until the device signs in anew.

  --none   act in none, for yourself`,
  options: { none: { type: 'boolean' } },
  args: [0, 1],
  async run({ args: [named], options, withApi, print, say }) {
    if ((named === undefined) !== (options['none'] === true))
      throw new UsageError('Name an organisation by its id or name, or give --none.')
    const context = await withApi(async (api) => {
      const organisation_id = named === undefined ? null : await organisationId(api, named)
      return api.context.activeOrg({ body: { organisation_id } })
    })
    print(context, [])
    const { active_organisation: active } = context
    say(
      active === undefined
        ? 'This device acts for yourself now, in no organisation.'
        : `This device acts in "${shown(active.name)}" now, as ${active.role}.`,
    )
  },
}
