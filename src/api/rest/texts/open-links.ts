/** The texts of `../open-links.ts`. */
import type { Texts } from './text.ts'

export const openLinkTexts: Texts<'openLinks' | 'openLinkRequests'> = {
  openLinks: {
    list: {
      summary: 'List open links',
      description: 'Lists open links, each with the number of requests that wait for an answer.',
      tool: {
        title: 'List open links',
        description:
          'Lists your open links: public web pages on which people can ask to connect with you. To see who asked, use open_link_requests_list.',
      },
    },
    create: {
      summary: 'Create an open link: a page on which people can ask to connect',
      description:
        'The page is public as soon as the call returns. A person who asks there must first confirm an email address, and joins nothing until you approve. It returns 409 `invalid_state` (`no_name`) if your account has no name and would be called by its email address.',
      tool: {
        title: 'Create an open link',
        description:
          'Publish a web page on which people can ask to connect with you. Returns its url, for you to hand out. No one joins until you call open_link_requests_approve. To invite a particular person, use connections_create.',
        traits: ['again', 'outside'],
      },
    },
    suggest: {
      summary: 'Propose a slug that is free',
      description: 'The slug is not reserved: another account may take it before you do.',
      tool: {
        title: 'Propose a free slug',
        description:
          'Suggests a slug that is free now, for open_links_create or open_links_slug. It does not create a link or reserve the slug.',
      },
    },
    delete: {
      summary: 'Delete an open link, with its requests',
      description:
        'The page and the requests made on it are deleted. Connections that were made through it stay.',
      tool: {
        title: 'Delete an open link',
        description:
          'Delete an open link and the requests made through it. Cannot be undone. To close its page for a while, use open_links_pause.',
        traits: ['takes', 'outside'],
      },
    },
    pause: {
      summary: 'Pause an open link',
      description:
        'The page stays online but accepts no new requests. You can still answer earlier requests.',
      tool: {
        title: 'Pause an open link',
        description:
          'Stop the page of an open link from accepting requests, until open_links_resume. Earlier requests stay.',
        traits: ['outside'],
      },
    },
    resume: {
      summary: 'Resume an open link',
      description: 'The page accepts requests again.',
      tool: {
        title: 'Resume an open link',
        description: 'Let the page of a paused open link accept requests again.',
        traits: ['outside'],
      },
    },
    slug: {
      summary: 'Give an open link a new slug; the old address stops working',
      description: 'The old address stops working immediately, and other people may take it.',
      tool: {
        title: 'Give an open link a new address',
        description:
          'Change the slug of an open link, and so its public address. The old address stops working immediately for everyone who has it, and others may take it. To find a free slug, use open_links_suggest.',
        // `takes`: the previous address stops working.
        traits: ['takes', 'outside'],
      },
    },
  },
  openLinkRequests: {
    list: {
      summary: 'List approval requests',
      description:
        'Lists requests with a verified email address, including answered requests. The name is not verified.',
      tool: {
        title: 'List requests to connect',
        description:
          'Lists people who asked to connect through your open links and confirmed their email address. Only the address is verified, not the name. For invitations that you received, use invitations_pending.',
      },
    },
    approve: {
      summary: 'Approve a request: create a connection and invite the requester to it',
      description:
        'This device creates a connection with its keys and the preset of the link, and the email address of the requester gets an invitation to it. Approving twice changes nothing.',
      tool: {
        title: 'Approve a request to connect',
        description:
          'Approve a request through an open link: creates a connection with the keys of this device, and mails the requester an invitation. An approved request cannot be declined; to end the connection, use connections_delete.',
        traits: ['outside'],
      },
    },
    decline: {
      summary: 'Decline a request',
      description: 'A declined request can no longer be approved. The same person may ask again.',
      tool: {
        title: 'Decline a request to connect',
        description:
          'Decline a request through an open link. The requester is not notified. Cannot be undone: a declined request can no longer be approved.',
        // Not `outside`: the requester is not notified.
        traits: ['takes'],
      },
    },
  },
}
