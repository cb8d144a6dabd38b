/** The texts of `../account.ts` and `../notifications.ts`. */
import type { Texts } from './text.ts'

export const accountTexts: Texts<
  'notifications' | 'devices' | 'sessions' | 'emails' | 'exports' | 'account'
> = {
  notifications: {
    list: {
      summary: 'List notifications',
      description:
        'The newest five hundred, and as many of those that strangers cause. `data` has the ids of what each is about.',
      tool: {
        title: 'List notifications',
        description:
          'Notifications of this account, newest first, with the ids they are about. Marks nothing as read: notifications_read does. What happened in an organisation: org_activity_list.',
      },
    },
    delete: {
      summary: 'Delete notifications: those that are named, or all',
      description:
        'For this account only, and for good: `?id=…&id=…` names some, without it all go.',
      tool: {
        title: 'Delete notifications',
        description:
          'Delete the notifications in "id", or ALL of them if it is left out. Not undone. To mark them only: notifications_read.',
        traits: ['takes'],
      },
    },
    read: {
      summary: 'Mark notifications as read: those that are named, or all',
      description: 'Without `ids` all are marked. What they are about does not change.',
      tool: {
        title: 'Mark notifications as read',
        description:
          'Mark the notifications in "ids" as read, or all if it is left out; answers how many. To see them: notifications_list.',
        traits: [],
      },
    },
  },
  devices: {
    list: {
      summary: 'List devices',
      description:
        'Those that are signed in, and those that wait until they are approved by the words of both screens.',
      onAccountServer:
        'A device to approve has the state `pending`. The key log decides which devices are active.',
      tool: {
        title: 'List your devices',
        description:
          'Devices of this account, with those that wait for approval ("pending") and the one that answers ("current"). Where it is signed in now: sessions_list.',
      },
    },
    delete: {
      summary: 'Revoke a device, or turn away one that waits for approval',
      description:
        'For an approved device. Its keys sign nothing any more, its session ends, the public code is switched off, and connections change their secrets. It cannot be undone: the device signs in anew.',
      onAccountServer:
        'Deletes a device that no key log names yet. Otherwise 409 `no_device`: post `revoke` to the key log.',
      tool: {
        title: 'Revoke a device',
        description:
          'Shut a lost or unknown device out for good: its keys are revoked, connections get new secrets, the public code goes off; or turn away one that waits. Not undone. Not the current one. Only to sign it out: sessions_delete.',
        traits: ['takes'],
      },
    },
  },
  sessions: {
    list: {
      summary: 'List sessions',
      description: 'Where and when the account was last seen, and the organisation each acts for.',
      tool: {
        title: 'List sessions',
        description:
          'Where this account is signed in, with the device, when last seen and the organisation it acts for. The devices: devices_list.',
      },
    },
    delete: {
      summary: 'End another session; its device stays, and signs in again',
      description:
        'Only another one: the session that asks is not ended here. Its device keeps its keys; to shut it out, revoke the device.',
      tool: {
        title: 'End a session',
        description:
          'End another session; its device signs in again by itself. Not the current one. To shut a device out: devices_delete.',
        traits: ['takes'],
      },
    },
  },
  emails: {
    list: {
      summary: 'List email addresses',
      description: 'Those that are proven and those that wait for their link to be followed.',
      tool: {
        title: 'List your email addresses',
        description:
          'Email addresses of this account, with which is verified and which is primary. Mailboxes of other people: connections_list, external_members_list.',
      },
    },
    create: {
      summary:
        'Add an email address: a link to confirm it is mailed there. For one account at most three mails an hour go to one mailbox; the newest link counts',
      description:
        'Until the link is followed the address is of no use. For one account at most three mails an hour go to one mailbox; the newest link counts.',
      tool: {
        title: 'Add an email address of yours',
        description:
          'Add an address to this account: a link is mailed there, and until it is followed the address is not verified. No tool removes it. An address gets three mails an hour. To invite a person: members_add.',
        // `again`: the link is mailed again.
        traits: ['again', 'outside'],
      },
    },
  },
  exports: {
    list: {
      summary: 'List exports',
      description: 'With how far each is. A finished one is kept for a week.',
      tool: {
        title: 'List exports',
        description:
          'Exports of the account’s data, with progress and state. Look here until one is "ready", then exports_download.',
      },
    },
    create: {
      summary: 'Request an export of all that the account server has of the account',
      description:
        'Answers at once and builds in the background: ask for the list until it is `ready`. No secret is in it: they are on your devices, and that of the public code is left out.',
      tool: {
        title: 'Request an export of all your data',
        description:
          'Start an export of everything that the account server has of this account; answers an id, not a file. It is built in the background: exports_list, then exports_download.',
        traits: ['again'],
      },
    },
    clear: {
      summary: 'Delete all exports, with their files',
      description: 'For good; links that were given for them lead nowhere.',
      tool: {
        title: 'Delete all exports',
        description:
          'Delete all exports with their files; links to them end. The account’s data stays. Not undone: request another with exports_create.',
        traits: ['takes'],
      },
    },
    download: {
      summary: 'Get the link to a finished export, good for five minutes',
      description:
        'The link opens the file without a token: keep it to yourself. The link ends with the token of this request. 409 `export_not_ready` before the export is `ready`.',
      tool: {
        title: 'Get the link to an export',
        description:
          'A link, good for five minutes, to the ZIP file of an export that is "ready". The link opens the data without a token. Before that: 409 export_not_ready, look at exports_list.',
      },
    },
  },
  account: {
    delete: {
      summary: 'Delete the account and everything in it. Nothing brings it back',
      description:
        'At the account server, and then the keys, tokens and all else of it on this machine. Nothing asks again and nothing brings it back; others see it as left.',
      onAccountServer:
        'Needs an approved device of the account; asks for nothing else, and cannot be undone. Sign `leave` or `end` in connections before: rosters name the account otherwise.',
    },
  },
}
