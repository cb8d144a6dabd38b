export default {
  saved: 'Saved.',
  edit: 'Edit',
  remove: 'Delete',

  profile: 'You',
  profileLead: 'What others see. A device of yours signs the name.',
  name: 'Name',
  nameHint: 'Your contacts see it. It proves nothing until they confirm your keys.',
  handle: 'Handle',
  handleHint: 'A unique short name: 3 to 40 of the characters a–z, 0–9 and -. Empty for none.',
  headline: 'One line about you',

  addresses: 'E-mail addresses',
  addressesLead:
    'Others invite you with a confirmed address, and the account server sends its mails to the first one.',
  noAddress: 'This account has no e-mail address.',
  primary: 'for mails',
  unconfirmed: 'not confirmed',
  newAddress: 'New address',
  newAddressHint:
    'A link is mailed to it, if the account server has a mail relay. Add an address again to get another link.',
  addAddress: 'Add address',
  confirmAddress:
    'Open the link in the mail to {address} within 24 hours. Then the address is confirmed. A confirmed address stays with the account.',

  addressOnlyStored:
    'Nothing was sent to {address}: the account server has no mail relay. Its operator finds the mail in the folder for mail. The link in it confirms the address for 24 hours.',

  preferences: 'Mails and finding you',
  preferencesLead: 'The language of this console is that of your browser.',
  language: 'Language of mails',
  languageHint: 'Mails are in English and German. For other languages they are in English.',
  zone: 'Time zone of times in mails',
  zoneHint: 'This browser is in {zone}.',
  mailed: 'Send notifications as mails too',
  mailedHint: 'Invitations, alerts, requests at open links, and webhooks that were given up.',
  findable: 'People who know an address of mine can follow me with it',
  findableHint: 'They then see your name and your keys.',

  publicCode: 'Public code',
  publicCodeLead:
    'Three words that a stranger can look up at the account server. Use it on calls with people who do not have Countersign with you.',
  publicCodeOn: 'On',
  publicCodeOff: 'Off',
  switchOn: 'Switch on',
  switchOff: 'Switch off',
  publicCodeAsk: 'Switch the public code on?',
  publicCodeMeans:
    'Any stranger who hears the words can look up the name of your account. Only the account server vouches for the result, so it proves less than the words of a connection. The code ends when you revoke a device.',
  publicWordsLeft: { one: 'New words in {count} second.', other: 'New words in {count} seconds.' },
  noPublicWords: 'This device cannot show the words now. Sync it, and check its clock.',

  links: 'Links for others',
  linksLead: 'The pages of guests, stamps and open links.',
  linksThisMachine: 'Links begin with {url}. Only this machine can open them.',
  linksNetwork:
    'Links begin with {url}. Others can open them if their network reaches this address.',
  linksPublish: 'This command explains how others can open them:',
  linksCheck: 'This command checks that the address reaches this daemon and only its pages:',

  recovery: 'Recovery paper',
  recoveryLead:
    '24 words on paper. If all your devices are lost, they recover the account, and no contact has to confirm you again.',
  recoveryState:
    'This command shows since when the account has one. The check under Health shows it too.',
  recoveryCreate: 'This command creates the words, or replaces them:',
  recoveryWhy:
    'The words are never shown or typed in a browser. An extension of the browser, its history or a page that looks like this one could keep them, and they are the last key of the account. No web page of Countersign asks for them.',

  tags: 'Tags',
  tagsLead: 'Tags group your connections. Only you see them.',
  noTags: 'There are no tags yet. Create one, then give it to a connection under People.',
  newTag: 'New tag',
  editTag: 'Change tag',
  tagName: 'Name of the tag',
  hasColor: 'With a colour',
  color: 'Colour',
  tagUse: { one: '{count} connection', other: '{count} connections' },
  deleteTag: 'Delete the tag {name}?',
  deleteTagMeans: {
    one: '{count} connection loses this tag. The connection stays.',
    other: '{count} connections lose this tag. The connections stay.',
  },

  presets: 'Presets',
  presetsLead: 'Settings for new connections. Existing connections do not change.',
  noPresets:
    'There are no presets yet. Create one if you invite people with the same tags or message again and again.',
  newPreset: 'New preset',
  editPreset: 'Change preset',
  presetName: 'Name of the preset',
  presetDefault: 'used for new connections',
  setDefault: 'Use for new connections',
  unsetDefault: 'Do not use',
  presetTags: 'Tags: {tags}',
  presetFavorite: 'Favourite',
  presetMessage: 'With a message',
  presetValidity: 'Invitations are valid for {time}',
  favorite: 'New connections become favourites',
  inviteMessage: 'Message to invited people',
  inviteMessageHint: 'It is in the mail and in the invitation.',
  validity: 'Invitations are valid for',
  twoWeeks: '14 days (usual)',
  days: { one: '{count} day', other: '{count} days' },
  hours: { one: '{count} hour', other: '{count} hours' },
  deletePreset: 'Delete the preset {name}?',
  deletePresetMeans: 'Connections that were made with it stay as they are.',

  exports: 'Your data',
  exportsLead:
    'An export is a ZIP file with all data that the account server stores about you. Keys and words are not in it.',
  requestExport: 'Request an export',
  requested: 'requested {time}',
  progress: 'Progress of the export',
  export_queued: 'Waiting',
  export_building: 'Being built',
  export_ready: 'Ready',
  export_failed: 'Failed',
  export_expired: 'Deleted',
  exportDeleted: 'is deleted {time}',
  getLink: 'Get the link',
  download: 'Download the export',
  downloadHint: 'The link works for five minutes.',
  deleteExports: 'Delete all exports',
  deleteExportsAsk: 'Delete all exports?',
  deleteExportsMeans: 'Their files are deleted at the account server. Your data stays.',

  feedback: 'Feedback',
  feedbackLead: 'To the operator of your account server.',
  category: 'About',
  problem: 'A problem',
  idea: 'An idea',
  question: 'A question',
  praise: 'Praise',
  other: 'Something else',
  message: 'Message',
  sendFeedback: 'Send',
  feedbackSent: 'Sent. Thank you.',
  feedbackStored: 'Stored at the account server, which sends no mail. Thank you.',

  window: 'This window',
  windowLead: 'Each console has a key and a token of its own.',
  scopeRead: 'This window may only read.',
  scopeWrite:
    'This window may read and change your own data. Tokens and organisations need full rights.',
  scopeFull: 'This window has full rights.',
  scopeFullUntil:
    'This window has full rights until {time}. Then it may read and change your own data.',
  windowEnds:
    'It ends after 30 minutes without input, after 12 hours at most, or when you press Lock.',
  windows: 'All consoles and tokens',
  signOut: 'Sign this device out',
  signOutLead:
    'This revokes the device and deletes its data, with all consoles. It is a command, because the daemon that serves this page ends its account with it:',

  deleteAccount: 'Delete the account',
  deleteLead: 'It cannot be undone.',
  deleteSteps:
    'Run this command first. The window that it opens can delete the account for two minutes:',
  deleteButton: 'Delete the account …',
  deleteAsk: 'Delete the account and everything in it?',
  deleteNow: 'Delete the account',
  deleteConnections:
    'You leave all connections. Connections that only you own end for all members.',
  deleteGuests: 'The pages of your guests and your open links stop working.',
  deleteDevices: 'All your devices are signed out, and their keys are deleted. All tokens end.',
  deleteStamps: 'Your stamps can be verified only with the stamp files that others have.',
  deleteForever: 'No recovery paper brings the account back. Export your data first.',
  deleteType: 'To confirm, type the name of the account: {name}',
  deleteName: 'Name of the account',
} as const
