export default {
  lead: 'What waits for your decision, the most urgent first, and then what happened.',
  nothing: 'Nothing needs you',
  nothingLead: 'Invitations, new devices and changed keys appear here as soon as they arrive.',
  list: 'What needs you',

  notice: 'Check your account',

  keys: 'Changed keys: {name}',
  keysText:
    'Compare the safety number before you rely on the words of this person. All their devices were replaced: by them, or by an attacker.',
  keysUnused:
    'The recovery key was not used. Ask the person, in a way that you trust, whether they replaced their devices.',
  compare: 'Compare the safety number',
  compareText:
    'Ask the person to read out the number that their device shows, in person, or on a call that one of you placed to a number already known. It must be the same as this one:',
  safetyNumber: 'Safety number',
  noNumber: 'There is no safety number yet, because the person has no keys.',
  allSame: 'All 60 digits are the same',
  differ:
    'If the numbers still differ after both of you have synced, confirm nothing: an attacker may be between your devices.',
  confirmed: 'You confirmed the keys of {name}.',

  fork: 'Two histories: {name}',
  forkText:
    'The account server showed two different histories of this connection. Its words prove nothing now, so do not rely on them.',
  forkReplaced: 'Another connection replaces it. Use that one.',
  forkWait: 'If no connection replaces it within a day, ask an owner to create a new one.',
  toReplacement: 'Go to the replacement',
  toConnection: 'Go to the connection',

  device: 'New device: {name}',
  deviceText:
    'It waits for your approval and gets nothing before. If you did not just sign in on a new device, decline it.',
  since: 'Asked {when}',
  approveDevice: 'Approve …',
  decline: 'Decline',
  declineDevice: 'Decline the device',
  declineDeviceText:
    'The device is signed out and gets nothing. If it is yours, you can sign in on it again.',
  deviceDeclined: 'You declined the device {name}.',

  invitation: 'Invitation to {connection}',
  from: 'From: {name}',
  fromMail: 'From: {name}, {email}',
  until: 'Ends {when}',
  invitationText:
    'If you approve, the members and you have words for each other on calls. Ask the inviter first, in a way that you trust, whether they sent it.',
  approve: 'Approve',
  hasWords: 'They gave me four words',
  wordsHint:
    'Type only words that the inviter said in person, or on a call that one of you placed to a number already known. Right words also confirm the keys on both sides, as if you had compared the safety number.',
  fourWords: 'Four words of the inviter',
  approveWithWords: 'Approve with the words',
  approved:
    'You approved the invitation to {connection}. A device of the inviter adds you, usually within seconds.',
  declineInvitation: 'Decline the invitation',
  declineInvitationText:
    'The inviter sees that you declined. To join later, you need a new invitation.',
  invitationDeclined: 'You declined the invitation to {connection}.',

  contactOpenText:
    'The device of the inviter compares the words that you typed. This takes seconds if it is on.',
  wordsWrong:
    'These are not the words of the inviter’s device. Nothing was approved. Words allow only one try, so ask the inviter for new ones.',
  wordsOver:
    'These words are not valid any more. Nothing was approved. Ask the inviter for new ones.',
  wordsOften:
    'Words were tried three times in 15 minutes. Nothing was approved. Wait 15 minutes and ask for new words, or approve without words and compare the safety number.',
  wordsDiffer:
    'The account server showed different data to the two devices. Nothing was confirmed. Compare the safety number with the inviter.',

  request: 'Request: {name}',
  requestText:
    'The address is checked. The name is not: anyone can use any name. If you approve, you get a new connection, and the person gets an invitation to it by mail.',
  requestVia: 'At your open link {link}',
  requestApproved: 'You approved the request. {email} gets an invitation by mail.',
  declineRequest: 'Decline the request',
  declineRequestText: 'The person gets no message, and may ask again.',
  requestDeclined: 'You declined the request of {email}.',

  guest: 'Guest code: {name}',
  guestText:
    'After the end, its page shows no words. If your guest still needs words, create a new link and hand it over.',
  newLink: 'Create a new link',
  letEnd: 'Let it end',
  guestMade:
    'Hand over this link. It is shown only now, and anyone who has it sees the words of your guest.',
  guestLink: 'Link for {name}',
  toGuest: 'QR code and mail',
  guestLeft: 'The guest code of {name} ends by itself.',
  done: 'Done',

  sync: 'The last sync failed',
  syncNow: 'Sync now',
  synced: 'The sync succeeded.',

  notifications: 'Notifications',
  markRead: 'Mark as read',
  markAllRead: 'Mark all as read',
  markedRead: {
    one: 'One notification is marked as read.',
    other: '{count} notifications are marked as read.',
  },
  more: { one: 'Show one more', other: 'Show {count} more' },
  open: 'Open',

  desktop: 'Notifications on your desktop',
  desktopText:
    'This window can show a notification when something new needs you while you do not look at it. It names people and devices, never words.',
  allow: 'Allow notifications',
  desktopOn:
    'This window shows a notification when something new needs you while you do not look at it. To end that, change the permissions of this address in your browser.',
  desktopDenied:
    'Your browser blocks notifications of this address. To allow them, change the permissions of this address in your browser.',

  newNotice: 'Check your account',
  newKeys: 'The keys of “{name}” changed',
  newFork: 'The connection “{name}” has two histories',
  newDevice: 'The device “{name}” waits for your approval',
  newInvitation: '“{name}” invites you to “{connection}”',
  newInvitationBare: 'You are invited to “{connection}”',
  newRequest: '“{name}” asks to connect',
  newGuest: 'The guest code of “{name}” is about to end',
  newSync: 'The last sync failed',
  newNotification: 'You have a new notification',
  newBody: 'To decide, look at “Needs you”.',
} as const
