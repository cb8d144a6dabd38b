/** The texts of `../open-links.ts`. */
import type { Texts } from './text.ts'

export const openLinkTexts: Texts<'openLinks' | 'openLinkRequests'> = {
  openLinks: {
    list: {
      summary: 'List open links',
      description: 'With how many requests wait at each.',
      tool: {
        title: 'List open links',
        description:
          'Your open links: pages at a public address on which people ask to connect with you. Who asked: open_link_requests_list.',
      },
    },
    create: {
      summary: 'Create an open link: a page on which people ask to connect',
      description:
        'The page is public as soon as this answers. A person who asks there proves a mailbox first, and joins nothing until you approve.',
      tool: {
        title: 'Create an open link',
        description:
          'Publish a page on which people ask to connect with you; answers its url to hand out. No one joins without open_link_requests_approve. To invite a person you can name: connections_create.',
        traits: ['again', 'outside'],
      },
    },
    suggest: {
      summary: 'Propose a slug that is free',
      description: 'Nothing is reserved: others may take it before you do.',
      tool: {
        title: 'Propose a free slug',
        description:
          'A slug that is free now, for open_links_create or open_links_slug. Creates and reserves nothing.',
      },
    },
    delete: {
      summary: 'Delete an open link, with its requests',
      description:
        'The page is gone and what was asked there is too; connections that came of it stay.',
      tool: {
        title: 'Delete an open link',
        description:
          'Take an open link down for good, with the requests that came by it. Not undone. For a while only: open_links_pause.',
        traits: ['takes', 'outside'],
      },
    },
    pause: {
      summary: 'Pause an open link',
      description:
        'The page stays and takes no requests; those that came before may still be answered.',
      tool: {
        title: 'Pause an open link',
        description:
          'Let the page of an open link take no requests until open_links_resume. Requests that came by it stay.',
        traits: ['outside'],
      },
    },
    resume: {
      summary: 'Resume an open link',
      description: 'The page takes requests again.',
      tool: {
        title: 'Resume an open link',
        description: 'Let the page of a paused open link take requests again.',
        traits: ['outside'],
      },
    },
    slug: {
      summary: 'Give an open link a new slug; the old address ends',
      description: 'The old address stops working, and others may take it.',
      tool: {
        title: 'Give an open link a new address',
        description:
          'Change the slug, and with it the public address. The old address ends at once, also where it was handed out, and others may take it. A free one: open_links_suggest.',
        // `takes`: the previous address stops working.
        traits: ['takes', 'outside'],
      },
    },
  },
  openLinkRequests: {
    list: {
      summary: 'List approval requests',
      description:
        'Only those with a proven mailbox, answered ones included. The name is only claimed.',
      tool: {
        title: 'List requests to connect',
        description:
          'Who asked to connect by your open links and confirmed their mailbox; only that is proven, the name is as they wrote it. Invitations by people who know you: invitations_pending.',
      },
    },
    approve: {
      summary: 'Approve a request: makes a connection and invites the requester to it',
      description:
        'Takes the keys of this device: a connection is made with the preset of the link, and the mailbox gets an invitation to it. Approving twice changes nothing.',
      tool: {
        title: 'Approve a request to connect',
        description:
          'Approve a request by an open link: makes a connection and mails them an invitation. Takes the keys of this device. An approved request cannot be declined; the connection is ended by connections_delete.',
        traits: ['outside'],
      },
    },
    decline: {
      summary: 'Decline a request',
      description: 'It cannot be approved any more; the same person may ask again.',
      tool: {
        title: 'Decline a request to connect',
        description:
          'Refuse a request by an open link. Its sender gets no message. Not undone: a declined request cannot be approved.',
        // Not `outside`: the requester is not notified.
        traits: ['takes'],
      },
    },
  },
}
