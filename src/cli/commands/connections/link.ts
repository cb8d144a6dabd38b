import { inQuotes } from '../../../api/name-text.ts'
import type { OpenLink, OpenLinkRequest } from '../../../api/rest/open-links.ts'
import { AppError } from '../../../errors.ts'
import { byId } from '../../by-id.ts'
import { createCommand, deleteCommand, listCommand } from '../../collection.ts'
import type { Api, Command } from '../../command.ts'
import { reachRow } from '../../labels.ts'
import { idField, textField } from '../../option-fields.ts'
import { shown } from '../../table.ts'
import { when } from '../../times.ts'

export const linkList = listCommand({
  help: 'Lists open links, newest first, each with the number of requests that you have not answered.',
  work: (api, query) => api.openLinks.list(query),
  heading: ['ID', 'STATE', 'WAITING', 'TITLE', 'ADDRESS'],
  row: ({ id, state, pending_requests, title, url }) => [
    id,
    state,
    String(pending_requests),
    title,
    url,
  ],
})

export const linkCreate = createCommand({
  usage: '[--title TITLE] [--slug SLUG] [--preset PRESET] [--json]',
  help: `
Creates an open link, a page where people can ask to connect with you, and prints its address. You see a request
("countersignd link requests") after the requester has confirmed their e-mail address. No one is connected without
your approval.

  --title TITLE     the title that the page shows (default: your name)
  --slug SLUG       the end of the address: 3 to 40 characters of a-z, 0-9 and - (default: a random slug)
  --preset PRESET   the preset for the new connections, by its name or id (default: the default preset)`,
  examples: {
    'link create': 'print the address of a new page',
    'link create --title "Help desk" --slug help-desk': 'choose the title and the address',
  },
  fields: {
    title: textField('title'),
    slug: textField('slug'),
    preset_id: idField('preset', 'preset'),
  },
  needed: [],
  work: (api, body) => api.openLinks.create({ body }),
  shows: ({ url, reachable, id, title }) => ({
    bare: url,
    rows: [['Link', url]],
    details: [reachRow(reachable), ['Title', title], ['Id', id]],
  }),
  next: () => 'To see the requests: countersignd link requests',
})

export const linkSuggest: Command = {
  usage: '[--json]',
  help: 'Suggests a slug that is free now. The slug is not reserved.',
  args: [0, 0],
  async run({ withApi, print }) {
    const proposed = await withApi((api) => api.openLinks.suggest({}))
    print(proposed, proposed.slug)
  },
}

const change = (of: {
  help: string
  work: (api: Api, id: string) => Promise<OpenLink>
  done: (link: OpenLink) => string
}): Command => ({
  usage: 'LINK [--json]',
  help: of.help,
  args: [1, 1],
  takes: ['open link'],
  async run({ args: [id = ''], withApi, print, say }) {
    const link = await withApi((api) => byId('open link', () => of.work(api, id)))
    print(link, [])
    say(of.done(link))
  },
})

export const linkPause = change({
  help: 'Pauses an open link. Its page accepts no requests until you resume it. Requests that you have not answered are kept.',
  work: (api, id) => api.openLinks.pause({ id }),
  done: ({ url }) => `Paused ${url}.`,
})

export const linkResume = change({
  help: 'Resumes an open link that was paused.',
  work: (api, id) => api.openLinks.resume({ id }),
  done: ({ url }) => `${url} accepts requests again.`,
})

export const linkSlug: Command = {
  usage: 'LINK SLUG [--json]',
  help: `
Gives an open link a new slug (3 to 40 characters of a-z, 0-9 and -) and prints its new address. The old address
stops working, and other people can then use it.`,
  args: [2, 2],
  takes: ['open link', null],
  async run({ args: [id = '', slug = ''], withApi, print }) {
    const link = await withApi((api) =>
      byId('open link', () => api.openLinks.slug({ id, body: { slug } })),
    )
    print(link, link.url)
  },
}

export const linkDelete = deleteCommand({
  kind: 'open link',
  help: `
Deletes an open link and its requests, including requests that you have not answered. Connections made through the
link are kept.`,
  work: (api, id) => api.openLinks.delete({ id }),
})

export const linkRequests = listCommand({
  usage: '[--state pending|approved|declined] [--json]',
  help: `
Lists the requests to connect that came through your open links, newest first. Each e-mail address is confirmed, but
the name is not checked. Each message is shown on one line; with --json, it is shown unchanged.

  --state STATE   list only requests in this state: pending, approved or declined`,
  filters: { state: textField<OpenLinkRequest['state']>('state') },
  work: (api, query) => api.openLinkRequests.list(query),
  heading: ['ID', 'STATE', 'MAILBOX', 'NAME', 'ASKED', 'MESSAGE'],
  row: ({ id, state, requester, message, created_at }) => [
    id,
    state,
    requester.email,
    requester.display_name,
    when(created_at),
    (message ?? '').replaceAll(/\s+/g, ' '),
  ],
})

/** The message for each state in which a request can no longer be answered. */
const OVER: Readonly<Record<string, string>> = {
  approved:
    'This request was already approved. To end the connection, use "countersignd connection leave" or "countersignd connection delete".',
  self: 'This request came from your own e-mail address. Decline it with "countersignd link decline".',
}

const answer = (of: {
  help: string
  work: (api: Api, id: string) => Promise<OpenLinkRequest>
  done: (request: OpenLinkRequest) => string
}): Command => ({
  usage: 'REQUEST [--json]',
  help: of.help,
  args: [1, 1],
  takes: ['request'],
  async run({ args: [id = ''], withApi, print, say }) {
    const request = await withApi((api) =>
      byId('request', () => of.work(api, id)).catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code !== 'invalid_state') throw error
        const { code, details, message } = error
        const text = OVER[details.state ?? ''] ?? message
        throw new AppError(code, text, { details, cause: error })
      }),
    )
    print(request, request.connection_id ?? [])
    say(of.done(request))
  },
})

const whoOf = ({ requester }: OpenLinkRequest) =>
  `${inQuotes(requester.display_name)} <${shown(requester.email)}>`

export const linkApprove = answer({
  help: `
Approves a request: creates a connection, prints its id, and sends an invitation to the e-mail address of the
requester. When the requester has approved the invitation, this device adds them: within seconds if its daemon
is connected, or else at its next sync.`,
  work: (api, id) => api.openLinkRequests.approve({ id }),
  done: (request) => `Approved ${whoOf(request)}. They get an invitation by mail.`,
})

export const linkDecline = answer({
  help: 'Declines a request. The requester gets no message.',
  work: (api, id) => api.openLinkRequests.decline({ id }),
  done: (request) => `Declined ${whoOf(request)}.`,
})
