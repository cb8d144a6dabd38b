/** The texts of `../account.ts` and `../notifications.ts`. */
import type { Texts } from './text.ts'

export const accountTexts: Texts<
  'notifications' | 'devices' | 'approvals' | 'sessions' | 'emails' | 'exports' | 'account'
> = {
  notifications: {
    list: {
      summary: 'List notifications',
      description:
        'Returns the newest 500 notifications, and up to 500 more that strangers caused. `data` has the ids of the objects that a notification is about.',
      tool: {
        title: 'List notifications',
        description:
          'Lists notifications of this account, newest first, with the ids they are about. Does not mark them as read; use notifications_read. For events in an organisation use org_activity_list.',
      },
    },
    delete: {
      summary: 'Delete the named notifications, or all',
      description:
        '`?id=…&id=…` names the notifications to delete. Without `id`, all notifications of this account are deleted. This cannot be undone.',
      tool: {
        title: 'Delete notifications',
        description:
          'Delete the notifications in "id", or ALL of them if it is left out. Cannot be undone. To only mark them as read, use notifications_read.',
        traits: ['takes'],
      },
    },
    read: {
      summary: 'Mark the named notifications as read, or all',
      description:
        'Without `ids`, all notifications are marked. The objects that they are about do not change.',
      tool: {
        title: 'Mark notifications as read',
        description:
          'Mark the notifications in "ids" as read, or all if it is left out. Returns how many were marked. To see them, use notifications_list.',
        traits: [],
      },
    },
  },
  devices: {
    list: {
      summary: 'List devices',
      description:
        'Lists the devices that are signed in, and the devices that wait to be approved with the words on both screens.',
      onAccountServer:
        'A device that waits for approval has the state `pending`. The key log decides which devices are active.',
      tool: {
        title: 'List your devices',
        description:
          'Lists the devices of this account, including devices that wait for approval ("pending") and the device that answers this call ("current"). For the sessions, use sessions_list.',
      },
    },
    delete: {
      summary: 'Revoke a device, or reject a device that waits for approval',
      description:
        'Only an approved device may do this. The keys of the revoked device become invalid, its session ends, the public code is switched off, and the account’s connections get new secrets. This cannot be undone: to use the device again, enrol it as a new device.',
      onAccountServer:
        'Deletes a device that is not in a key log yet. For any other device it returns 409 `no_device`: post `revoke` to the key log instead.',
      tool: {
        title: 'Revoke a device',
        description:
          'Remove a lost or unknown device permanently: its keys are revoked, connections get new secrets, the public code is switched off. Or reject a pending device. Cannot be undone. Not for the current device. To only sign a device out, use sessions_delete.',
        traits: ['takes'],
      },
    },
  },
  approvals: {
    read: {
      summary: 'Read how far an approved device is',
      description:
        'Shows whether the words of this device were typed on the new device, and how many connections have a secret that is not sealed to it yet.',
    },
    begin: {
      summary: 'Begin to approve a device that waits',
      description:
        'Only for the command line and a console of scope `full` (`countersignd open --full`), like the following steps: an API token gets 403 `forbidden`. Both devices must run the approval at the same time: the new device by `countersignd login`. The attempt lasts 15 minutes, is only in the memory of this daemon, and ends an earlier attempt. At most five attempts in 24 hours are possible; an attempt counts when the new device has begun.',
    },
    advance: {
      summary: 'Continue the approval of a device',
      description: 'Call this every second until the state is `ready`.',
    },
    create: {
      summary: 'Approve a device with the four words on its screen',
      description:
        'Compares the words with those of the device that the account server offers, and adds the device to the key log. The answer has four other words, which the user types on the new device. Show the user the warning in the description of `words` before they type. If the words are rejected although they were typed correctly, the account server may be dishonest.',
    },
  },
  sessions: {
    list: {
      summary: 'List sessions',
      description:
        'For each session: its device, when it was last seen, and its active organisation.',
      tool: {
        title: 'List sessions',
        description:
          'Lists the sessions of this account, each with its device, when it was last seen, and its active organisation. For all devices, use devices_list.',
      },
    },
    delete: {
      summary: 'End another session; its device keeps its keys and signs in again',
      description:
        'The session that makes the request cannot be ended here. The device of the ended session keeps its keys and signs in again. To remove that device permanently, revoke it.',
      tool: {
        title: 'End a session',
        description:
          'End another session; its device signs in again by itself. Not for the current session. To remove a device permanently, use devices_delete.',
        traits: ['takes'],
      },
    },
  },
  emails: {
    list: {
      summary: 'List email addresses',
      description:
        'Lists verified addresses, and unverified addresses with a confirmation link that was not opened yet.',
      tool: {
        title: 'List your email addresses',
        description:
          'Lists the email addresses of this account, and shows which are verified and which is primary. For addresses of other people, use connections_list or external_members_list.',
      },
    },
    create: {
      summary: 'Add an email address: a confirmation link is mailed there',
      description:
        'The address cannot be used until its link is opened. An account can have at most three mails an hour sent to one address. Only the newest link is valid.',
      tool: {
        title: 'Add an email address of yours',
        description:
          'Add an address to this account. A link is mailed there; the address is verified when the link is opened. No tool can remove the address. Limit: three mails an hour to one address. To invite a person, use members_add.',
        // `again`: the link is mailed again.
        traits: ['again', 'outside'],
      },
    },
  },
  exports: {
    list: {
      summary: 'List exports',
      description: 'Lists exports with their progress. A finished export is kept for a week.',
      tool: {
        title: 'List exports',
        description:
          'Lists exports of the account’s data, with progress and state. Repeat until the export is "ready", then use exports_download.',
      },
    },
    create: {
      summary: 'Request an export of all data that the account server stores about the account',
      description:
        'Returns immediately; the account server builds the export in the background. Read the list until the export is `ready`. The export contains no secrets: they are on your devices, and the secret of the public code is left out.',
      tool: {
        title: 'Request an export of all your data',
        description:
          'Start an export of all data that the account server stores about this account. Returns an id, not a file. The export is built in the background: use exports_list until it is ready, then exports_download.',
        traits: ['again'],
      },
    },
    clear: {
      summary: 'Delete all exports, with their files',
      description: 'This cannot be undone. Links to the exports stop working.',
      tool: {
        title: 'Delete all exports',
        description:
          'Delete all exports with their files; links to them stop working. The account’s data stays. Cannot be undone, but exports_create makes a new export.',
        traits: ['takes'],
      },
    },
    download: {
      summary: 'Get a link to a finished export, valid for five minutes',
      description:
        'Anyone with the link can download the file without a token, so keep the link secret. The link also stops working when the token of this request is revoked or expires. Returns 409 `export_not_ready` until the `state` of the export is `ready`.',
      tool: {
        title: 'Get the link to an export',
        description:
          'Returns a link, valid for five minutes, to the ZIP file of an export that is "ready". Anyone with the link can read the data. 409 export_not_ready: wait until exports_list shows "ready".',
      },
    },
  },
  account: {
    delete: {
      summary: 'Delete the account and everything in it. This cannot be undone',
      description:
        'Deletes the account at the account server, and then its keys, tokens and all other data on this machine. There is no further confirmation, and this cannot be undone. Other people see that the account left their connections.',
      onAccountServer:
        'Needs an approved device of the account. There is no further confirmation, and this cannot be undone. Post `leave` or `end` to the rosters of all connections first; otherwise the rosters still name the account.',
    },
  },
}
