import { inQuotes } from '../../../api/name-text.ts'
import { AppError } from '../../../errors.ts'
import { byId } from '../../by-id.ts'
import { itemAnswer } from '../../collection.ts'
import { type Api, type Command, UsageError } from '../../command.ts'
import { printLabelled } from '../../labels.ts'
import { table, typedName } from '../../table.ts'

/** Returns the number of active members of the current organisation; null if it is not known. */
async function memberCount(api: Api): Promise<number | null> {
  try {
    return (await api.orgAnalytics.dashboard({})).members.active
  } catch (error) {
    // There is no current organisation, or an API token may not ask.
    if (error instanceof AppError) return null
    throw error
  }
}

export const orgList: Command = {
  usage: '[--json]',
  help: `
Lists the organisations that you are in, with your role. The current organisation of this device is marked, and its
number of active members is shown.`,
  args: [0, 0],
  async run({ io, withApi, print }) {
    const items = await withApi(async (api) => {
      const { organisations, active_organisation: active } = await api.context.read({})
      const count = active === undefined ? null : await memberCount(api)
      return organisations.map((one) => {
        const isCurrent = one.id === active?.id
        return { ...one, current: isCurrent, members: isCurrent ? count : null }
      })
    })
    print(
      { items },
      await table(
        ['ID', 'NAME', 'ROLE', 'MEMBERS', ''],
        items.map((one) => [
          one.id,
          one.name,
          one.role,
          one.members === null ? '' : String(one.members),
          one.current ? 'current' : '',
        ]),
        io.stdout,
      ),
    )
  },
}

export const orgCreate: Command = {
  usage: 'NAME [--json]',
  help: `
Creates an organisation, with you as its owner. To make it the current organisation of this device, use
"countersignd org use". To create machine accounts in it, use "countersignd machine create".`,
  examples: {
    'org create Acme': 'create an organisation',
  },
  args: [1, 1],
  async run(invocation) {
    const { args, withApi, say } = invocation
    const [name = ''] = args
    const made = await withApi((api) => api.organisations.create({ body: { name } }))
    printLabelled(invocation, made, itemAnswer(made))
    say(
      `To make it the current organisation of this device: countersignd org use ${typedName(made)}`,
    )
  },
}

export const orgUse: Command = {
  usage: 'ORGANISATION | --none [--json]',
  help: `
Chooses the current organisation of this device. The "countersignd org …" commands work in the current organisation.
Your other devices keep their own choice. The choice lasts until the device signs in again.

  --none   have no current organisation`,
  examples: {
    'org use Acme': 'choose the organisation for the other "org" commands',
  },
  options: { none: { type: 'boolean' } },
  args: [0, 1],
  takes: ['organisation'],
  async run({ args: [id], options, withApi, print, say }) {
    if ((id === undefined) !== (options['none'] === true))
      throw new UsageError('Give an organisation, or --none.')
    const body = { organisation_id: id ?? null }
    const context = await byId('organisation', () =>
      withApi((api) => api.context.activeOrg({ body })),
    )
    print(context, [])
    const { active_organisation: active } = context
    say(
      active === undefined
        ? 'This device has no current organisation now.'
        : `The current organisation of this device is now ${inQuotes(active.name)}. Your role: ${active.role}.`,
    )
  },
}
