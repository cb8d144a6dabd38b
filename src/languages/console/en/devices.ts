export default {
  lead: 'Each device has its own keys. Revoke a device that you lost or gave away.',
  list: 'Your devices',
  thisOne: 'This device',
  waits: 'Waits for approval',
  signedIn: 'Signed in',
  signedOut: 'Signed out',
  active: 'In use',
  platform_linux: 'Linux',
  platform_macos: 'macOS',
  platform_windows: 'Windows',
  platform_other: 'Other system',
  added: 'Added {when}',
  asked: 'Asked {when}',
  seen: 'Last seen {when}',
  session: 'Session since {when}',

  approve: 'Approve …',
  decline: 'Decline',
  declineTitle: 'Decline the device',
  declineText:
    'The device is signed out and gets nothing. If it is yours, you can sign in on it again.',
  declined: 'You declined {name}.',
  endSession: 'End the session',
  endSessionText:
    'The device is signed out at once, for example if you left it open. It keeps its keys, and can sign in again with a code from your mail. If you lost the device, revoke it instead.',
  sessionEnded: 'You ended the session of {name}.',
  revoke: 'Revoke',
  revokeTitle: 'Revoke the device',
  revokeText:
    'The keys and the session of this device end for ever. All your connections get new secrets, so their words may not verify for some minutes. To use the device again, sign in on it as a new device.',
  revokeRecovery:
    'If you lost it and it set your recovery key, that key stays valid. A notice then shows what to do.',
  revoked: 'You revoked {name}.',
  signOut: 'To sign this device out:',

  waitingHere: 'This device waits for approval',
  waitingHereText:
    'It may only read until another device of your account approves it. Run the first command here and the second one on the other device, or open “Devices” there:',

  add: 'Add a device',
  addText:
    'You need both devices in front of you, because you type words from each screen on the other.',
  addInstall: 'Install Countersign on the new device.',
  addLogin: 'Sign in there with these commands:',
  addLoopback: 'This address works only on this machine.',
  addApprove: 'The device appears here and waits. Choose “Approve” and type the words across.',
  addEmbedded:
    'This account is on this machine only and stays here, so it has one device. Several devices need an account on an account server. To have a copy of this one, make a backup:',

  renew: 'Renew the key of this device',
  renewText:
    'A device renews the key to which secrets are sealed every 90 days. If a person may have read its keychain or a backup of it, renew the key now, on that device:',

  approveTitle: 'Approve a device',
  back: 'All devices',
  approveLead: 'Type the four words of each screen on the other device.',
  warning:
    'Approving gives the new device full access to your account. The screen of the new device must be in front of you. Never type words that another person dictates to you.',
  isNew: 'new',
  begin: 'Begin',
  beginText:
    'On the new device, run this command, if it does not run there already. Then begin here. You have 15 minutes, and five attempts in 24 hours:',
  waiting: 'Waiting for {name}. Run this command on it:',
  answered:
    '{name} still shows the words of an earlier attempt. Press Enter there, or run this command there again:',
  revealing: 'Waiting for {name} to show its words …',
  theirWords: 'Four words that {name} shows',
  compare: 'Compare the words',
  otherWords:
    'These are not the words that the new device shows now. Nothing was approved. Type the words of this attempt. If they are rejected again, do not approve the device: the account server offers another device than yours.',
  startedAgain: 'The new device began again, or another device answered it. Begin again here.',
  noAttempt: 'This attempt has ended. Begin again here.',
  typeThere: 'Now type these four words on {name}',
  stepCompared: 'The words of {name} are right',
  stepTyped: 'The words of this device are typed on {name}',
  stepSealed: 'The secrets of all connections are sealed to {name}',
  stepsLeft: {
    one: 'One connection is left. Other members may have to seal its secret.',
    other: '{count} connections are left. Other members may have to seal their secrets.',
  },
  stepDone: 'Done:',
  stepOpen: 'Waiting:',
  progress: 'Progress',
  ready: '{name} is ready. Its words can be used as soon as it has synced.',
  isActive: '{name} is approved already.',
  gone: 'This device does not belong to your account any more: it was declined or revoked, or other words were typed on it. To add it, sign in on it again.',
} as const
