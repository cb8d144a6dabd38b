/**
 * The English messages of pages and letters. A placeholder such as `{owner}` stands for a value.
 * The other catalogues have the same keys and placeholders, in another order if necessary.
 */
export const en = {
  /** The frame of every page. */
  frame: {
    server: 'on {host}',
    needsScript:
      'This page checks everything in your browser, and needs JavaScript for that. Nothing was checked. Allow JavaScript for this page, and reload it.',
  },

  /** The page of a guest code, as the server sends it. */
  guest: {
    eyebrow: 'Guest page',
    title: 'Calls with {owner}',
    about:
      'This is a page of {owner} on {host}. Three words show that a call is really between you two.',
    madeFor: 'Made for {guest}.',
    worksUntil: 'The page works until {time}.',
    whoCalled: 'Who called?',
    called: 'They called me',
    calledSteps: 'You check their words first. Then this page shows yours.',
    calling: 'I am calling',
    callingSteps: 'You say your words first. Then you check theirs.',
    similarWords: 'Similar words of the list',
    checkTheirs: 'Check their words',
    askCaller: 'Ask the caller for three words.',
    notYoursYet: 'Do not say yours yet.',
    askTheirs: 'After you have said yours, ask for theirs.',
    heard: 'The three words that you hear',
    check: 'Check',
    sayYours: 'Say your words',
    validity: 'These words hold until {time}. New words in {seconds}.',
    startAgain: 'Start again',
    remove: 'Remove this code from this device',
    proof: 'What the words prove, and what they do not',
    proofOfSecret:
      'They prove that the other person has the secret of your link in this minute. They do not prove the names above: the account chose these names itself.',
    proofOnce:
      'This page accepts words only once: in the minute in which they are shown, in the minute before, or in the minute after.',
    proofRelay:
      'They do not stop a person who listens to your call and passes every word on while you talk.',
    proofServer:
      'The secret stays in this browser. But this page comes from a server, and a dishonest server could send a page that reads the secret. The history of your browser may also contain your link.',
    proofLink: 'Anyone who has your link can see your words. Do not pass the link on.',
    doNotTrust: 'Do not trust a caller who asks for words of this page',
    remedy: 'To get a new link, call {owner} at a number that you already have.',
    withdrawnTitle: 'This code was withdrawn',
    withdrawn: '{owner} withdrew this code. Its words no longer prove anything.',
    expiredTitle: 'This code has expired',
    expired: 'The code from {owner} was valid for a limited time, and this time is over.',
    unknownTitle: 'There is no such code',
    cannotCheck: 'This page cannot check a call',
    unknown:
      'The link may be incomplete or contain a typing error, or the code was deleted. Open the full link that you were sent, or scan the QR image again.',
  },

  /** The messages of the script of the page of a guest code. */
  guestScript: {
    right: 'It is {owner}.',
    nowSayYours: 'Now say yours:',
    talk: 'You can talk.',
    doNotSayYours: 'Do not say your words.',
    used: 'These words were used before.',
    usedNext: 'Do not trust a person who repeats old words. Ask for the next words, or hang up.',
    own: 'These are your own words.',
    ownNext: 'A person who repeats them proves nothing.',
    hangUp: 'Hang up.',
    wrong: 'These are not the words of {owner}.',
    doNotTrust: 'Do not trust this call.',
    wrongNext:
      'If you may have misheard, ask for them again. Otherwise hang up, and call a number that you already have.',
    unknownWord: '“{word}” is not in the word list.',
    didYouHear: 'Did you hear one of these words?',
    askToRepeat: 'Ask the other person to repeat it.',
    typeThree: 'Type the three words that you hear.',
    count: {
      one: 'That is {count} word. Type three words.',
      other: 'Those are {count} words. Type three words.',
    },
    wereRight: 'At {time} the words of {owner} were right. A new call needs new words.',
    insecure:
      'The connection to this page is not secure, so the page shows no words. Open the address that begins with https.',
    incompleteLink: 'The link is not complete.',
    noCode: 'This browser does not have your code.',
    openLink: 'To check a call, open the full link that you were sent, or scan the QR image again.',
    stored:
      'This browser stores the code, so you can reload this page. If this is not your own device, remove the code after the call.',
    notStored:
      'This browser does not store the code. If you reload this page, open the full link again.',
    removed: 'The code was removed. To check a call again, open the full link that you were sent.',
    ahead: 'The clock of this device is {duration} ahead of the clock of the server.',
    behind: 'The clock of this device is {duration} behind the clock of the server.',
    setClock:
      'The words on this page follow the clock of the server, so they are right. Set the clock of this device.',
    seconds: { one: '{count} second', other: '{count} seconds' },
    minutes: { one: '{count} minute', other: '{count} minutes' },
    hours: { one: '{count} hour', other: '{count} hours' },
    days: { one: '{count} day', other: '{count} days' },
  },

  /** The page of a stamp, as the server sends it. */
  stamp: {
    eyebrow: 'Stamp',
    heading: 'Check a stamped file',
    yourFile: 'Your file',
    choose: 'Choose a file',
    drop: 'or drop it here',
    stays: 'Your browser compares the file. It is not sent anywhere.',
    whoSigned: 'Who signed',
    details: 'Details',
    limits: 'What this page cannot protect you from',
    limitsText:
      'The script of this page comes from the server. A dishonest server could send a script that accepts every file. The server also sends the signer’s key log and the key with which receipts are checked. To check a stamp without trusting a server, use the command line and the root that the signer gave you: {command}',
    unknownTitle: 'No such stamp',
    unknownHeading: 'There is no such stamp here',
    notChecked: 'Nothing was checked',
    unknown:
      'The link may be incomplete or contain a typing error, or it belongs to another server. Ask the person who gave you the link for the full link.',
    haveFile: 'If you have the stamp as a file',
    checkFile: 'On a computer with Countersign, you can check the file without this page:',
  },

  /** The messages of the script of the page of a stamp. */
  stampScript: {
    checking: 'Checking …',
    checkingText: 'Your browser is checking the stamp.',
    notChecked: 'Nothing was checked',
    notFetched: 'The stamp could not be fetched. Try again in a moment: reload this page.',
    insecure:
      'The connection to this page is not secure, so the page checks nothing. Open the address that begins with https.',
    refused: 'Do not rely on this stamp',
    found: 'Signature found. Now check your file',
    foundText: 'A stamp is about one exact file. Choose the file that you have.',
    incomplete: 'Your link is incomplete',
    incompleteText:
      'A part after “#” is missing. So this page cannot check that the link was made for this stamp. Ask for the full link.',
    comparing: 'Comparing your file …',
    sameIncomplete: 'The file matches, but your link is incomplete',
    same: 'This is the stamped file',
    sameBy: '{file} is byte for byte the file that an account with the name {signer} signed.',
    sameByUnnamed: '{file} is byte for byte the file that an account without a signed name signed.',
    different: 'This is not the stamped file',
    differentText:
      '{file} is another file, or it was changed after it was signed. Do not rely on it.',
    fileNotChecked: 'Your file was not checked',
    tooLarge:
      '{file} is larger than 1 GiB, which is too large for a browser. On a computer with Countersign, use {command}',
    unreadable: 'The browser could not read {file}. Choose a file, and not a folder.',
    name: 'Name',
    noName: 'No signed name',
    noNameNote:
      'Ask the person who gave you the link which account is theirs. The account is under Details.',
    nameNote: 'The account chose this name itself, and signed it.',
    replaced:
      'All devices of this account were replaced at least once. Make sure that the account still belongs to the same person.',
    known: 'What is known about the account',
    device: 'A device of this account signed. Nothing confirms who uses it.',
    verified_email:
      'The account had confirmed an e-mail address when the server received the stamp.',
    organisation:
      'The account was an active member of an organisation when the server received the stamp.',
    onlyReceipt: 'Only a receipt of the server could prove more.',
    byReceipt: 'According to the receipt of this server.',
    signed: 'Signed',
    bySigner: 'According to the signer.',
    inFuture: 'This time is in the future, according to the server’s clock.',
    received: 'Received by the server',
    noReceipt: 'No receipt yet. Only the signer confirms the time.',
    context: 'Context',
    account: 'Account',
    root: 'Root of the account',
    rootNote:
      'The root identifies the signer’s keys. Compare it with the root that the signer gave you.',
    signingDevice: 'Signing device',
    deviceKey: 'Key of the device',
    digest: 'SHA-256 of the file',
    length: 'Length',
    bytes: { one: '{count} byte', other: '{count} bytes' },
    mediaType: 'Media type',
    notGiven: 'not given',
    words: 'Words',
    wordsNote: 'The words only help to find a stamp. They are never evidence.',
    secondsAfter1970: '{count} seconds after 1970',
  },

  /** Why a stamp is rejected, by the reason of `Refusal`. */
  stampFaults: {
    other_stamp: 'This link was made for another stamp, or the link was changed.',
    other_id: 'The id of the stamp is not the id in the address.',
    malformed: 'The server sent data that is not a stamp.',
    rule: 'The stamp breaks a rule that is required for every stamp.',
    bad_signature: 'The signature is wrong: the stamp was changed, or another key signed it.',
    kid_mismatch: 'The key that signed it is not the key of the device that it names.',
    unknown_signer: 'It was signed with a key that is not accepted for it.',
    revoked_signer: 'The device that signed it was already revoked.',
    revoked_key:
      'The key that signed it is revoked, and no receipt shows that the server received it before that.',
    key_log_mismatch: 'The device list that came with it is not the list with which it was made.',
    wrong_version: 'It was made with a version of the protocol that is not supported.',
    wrong_account: 'The device list that came with it belongs to another account.',
    account_mismatch: 'The first keys of the device list do not match the id of the account.',
    key_log_forked: 'The device list that came with it contradicts itself.',
    gap: 'The device list that came with it is incomplete.',
    receipt_mismatch: 'The receipt that came with it belongs to another stamp.',
    assurance_claimed: 'It claims an assurance level that only a receipt of the server can prove.',
  },

  /** The pages at mailed links. */
  confirm: {
    eyebrow: 'Mailbox',
    confirm: 'Confirm',
    reject: 'This was not me',
    untilThen: 'Until you confirm, nothing happens. You can also just close this page.',
    rejectedTitle: 'Nothing was confirmed',
    rejected:
      'The link in the mail does not work any more. If you get such a mail again, you can ignore it: without the mail, nobody can confirm anything for your mailbox.',
    endedTitle: 'This link is no longer valid',
    ended:
      'The link was already used, or it has expired. If you confirmed something with it, the confirmation is still valid. Otherwise repeat the step for which you got the mail, and use the link in the newest mail.',
    addressTitle: 'Confirm your address',
    address: 'Address',
    account: 'Account',
    addressText:
      'If you confirm, this address becomes an address of this account. Codes mailed to it sign in to the account, and invitations to it reach the account. Confirm only if it is your account.',
    takenTitle: 'This address already belongs to an account',
    taken:
      '{address} already belongs to an account on this server, and an address can belong to only one account. Nothing was changed. If that account is yours, sign in to it with this address.',
    addedTitle: 'Your address is confirmed',
    added: '{address} is now an address of that account. You can close this page.',
    askTitle: 'Ask to connect?',
    asked: 'You ask',
    yourName: 'Your name',
    yourAddress: 'Your address',
    yourMessage: 'Your message',
    askText:
      'If you confirm, this person sees your name, your address and your message, and approves or declines your request. The names are not checked: anyone can use any name.',
    sentTitle: 'You have asked to connect',
    sent: '{owner} can now see your request, with your name, your message and {address}. If it is approved, an invitation comes to this mailbox. You can close this page.',
  },

  /** The pages of an open link. */
  openLink: {
    eyebrow: 'Open link',
    headed: '{heading}: {title}',
    rule: 'Ask {owner} to connect with you.',
    caution:
      'Anyone can use any name. Continue only if you got this link from this person, in a way that you already trust.',
    faulty: 'Your request was not sent. Correct the marked fields.',
    notSent: 'Not sent',
    name: 'Your name',
    email: 'Your e-mail address',
    emailHint:
      'We mail a link to this address, to check that the address is yours. Your request is not sent until you open the link and confirm.',
    message: 'Your message (optional)',
    send: 'Ask to connect',
    becomes: 'What happens to your request',
    becomesFirst: 'You open the link in our mail and confirm.',
    becomesThen:
      '{owner} sees your name, your address and your message, and approves or declines. If your request is declined, you get no mail.',
    becomesLast:
      'If it is approved, you get an invitation by mail. After that, you recognise each other on calls by three words.',
    noName: 'Enter your name.',
    noEmail: 'Enter your e-mail address, for example name@example.org.',
    tooLong: {
      one: 'At most {count} character is allowed.',
      other: 'At most {count} characters are allowed.',
    },
    badCharacters:
      'Control characters and characters that change the text direction are not allowed.',
    openMailbox: 'Open your mailbox',
    mailed:
      'We mailed you a link. Open it within a day and confirm. Then {owner} sees your request.',
    noMail:
      'Did you get no mail? Look in the folder for unwanted mail, and check your address for typing errors. We send few such mails to one address in an hour, and none while a request from this address is already waiting here.',
    paused: 'Paused',
    pausedTitle: 'This link is paused',
    pausedText:
      '{owner} accepts no requests here at the moment. Nothing was sent. Try again later, or ask this person in another way.',
    full: 'Too many requests',
    fullTitle: 'Too many people ask at the moment',
    fullText: 'This link accepts no more requests for now. Nothing was sent. Try again later.',
    unknown: 'No such link',
    unknownTitle: 'There is no such link',
    unknownText:
      'The address may contain a typing error, or the link was deleted or has a new address. Ask the person who gave you the link for the new one.',
  },

  /** The start page of an account server. */
  home: {
    title: 'Who is really on the phone?',
    about:
      'A voice can be imitated. With Countersign, the caller says three words that change every minute. Only you and the real person can compute them. This server, {host}, keeps the accounts of people who use Countersign.',
    link: 'You were sent a link',
    linkText:
      'Open the full link, with the part after “#”. It shows your words for calls with one person. This address alone shows nothing about anyone.',
    stamp: 'You want to check a stamped file',
    stampPage:
      'Open the link of the stamp, and choose your file there. The page is green only if the file is exactly the file that was signed. Your browser compares it, and does not send it.',
    stampFile: 'If you have the stamp as a file, Countersign checks it on your computer:',
    call: 'You are on a call',
    callText:
      'The caller says their words first. Say yours only after the check has shown the right person. If the words are wrong, hang up, and call a number that you already have.',
    invited: 'You were invited',
    invitedText:
      'You need the program {program}. Ask the person who invited you, or the operator of this server, where to get it. Then sign in here with the address that was invited:',
  },

  /** Parts of letters. */
  letters: {
    hours: { one: '{count} hour', other: '{count} hours' },
    days: { one: '{count} day', other: '{count} days' },
    minutes: { one: '{count} minute', other: '{count} minutes' },
    times: { one: '{count} time', other: '{count} times' },
    message: 'Their message:\n{message}',
    requests: {
      one: '{count} request waits for your answer.',
      other: '{count} requests wait for your answer.',
    },
    withKey: `needed a sign-in code and the words of a recovery key of your account.
The earlier devices are signed out. Contacts who accepted keys that belong to
this recovery key do not have to confirm you again. All others have to.`,
    withoutKey: `needed a sign-in code. The earlier devices are signed out, and your
contacts are asked to confirm you again.`,
  },

  codeLetter: {
    subject: 'Your sign-in code for {host}',
    text: `Hello,

a person, probably you, is signing in to the Countersign account server
{server} with this address. The code is:

    {code}

Type it on the device on which you started to sign in. It is valid for
{minutes} and for one device. Give it to no other person: a person
who asks you for it wants to sign in as you.

If it was not you, ignore this mail. Without the code nothing happens.
`,
  },

  deviceAddedLetter: {
    subject: 'A new device on your account at {host}',
    text: `Hello,

a new device, {device},
was added to your account at
{server}. Another device of yours approved it.

If that was you, there is nothing to do.

If it was not you, revoke the new device at once, on a device that you trust:

    countersignd device list
    countersignd device revoke <the device>
`,
  },

  recoveryKeyLetter: {
    subject: 'A new recovery key for your account at {host}',
    text: `Hello,

the device {device}
made a recovery key for your account at
{server}. A person who has its 24 words
and can read this mailbox can replace all your devices. Your contacts then do
not have to confirm the new keys.

If that was you, there is nothing to do.

If it was not you, reset the account on a device that you trust, without a
recovery key. It is not enough to revoke the device, because the recovery key
would stay in force.

    countersignd reset --email <this address>

Then compare the safety number with each contact. Until a contact confirms
your new keys, the device of that contact accepts a reset with those words.
`,
  },

  resetLetter: {
    subject: 'All devices of your account at {host} were replaced',
    text: `Hello,

all devices of your account at {server}
were replaced by a new one, {device}.
This {recovery}

If that was you, there is nothing to do.

If it was not you, another person may be able to read your mail. First give
your mailbox a new password. Then reset the account yourself:

    countersignd reset --email <this address>

If you have the 24 words of your recovery key, add --recovery-key.
`,
  },

  confirmAddressLetter: {
    subject: 'Confirm your address for {host}',
    text: `Hello,

a person who uses the name
    {person}
wants to add this address to their account on the Countersign account server
    {server}

If that is you, open this page within {hours} and confirm the address there:

    {link}

If it is not you, ignore this mail. Then nothing happens. Do not confirm for
another person: that person would get the invitations to this address.
`,
  },

  emailAddedLetter: {
    subject: 'A new address of your account at {host}',
    text: `Hello,

the address
    {address}
was added to your account at
{server}. A code that is mailed to this address
signs a device in to your account. Until you approve that device, it can only
read. The code cannot reset the account.

If that was you, there is nothing to do.

If it was not you, another person has one of your devices or API tokens.
Revoke the devices and the tokens that you do not recognise:

    countersignd device list
    countersignd device revoke <the device>
    countersignd token list
    countersignd token revoke <the token>

Then ask the operator of the account server to remove the address. Until it
is removed, approve only devices on which you signed in yourself.
`,
  },

  webhookLetter: {
    subject: 'A webhook was given up at {host}',
    text: `Hello,

your device {device}
at the account server {server}
sends nothing more to the webhook
    {name}
because it has accepted no event since {time}.

When its receiver works again, run this on that device. It then continues with
the first event that was not delivered:

    countersignd webhook update {webhook} --enable

You get at most one of these mails an hour, also if more webhooks are given
up. To see them all:

    countersignd notification list

To turn these mails off:

    countersignd preferences set --email-notifications off
`,
  },

  invitationLetter: {
    subject: 'An invitation to connect at {host}',
    text: `Hello,

a person who uses the name
    {person}
invites you to the connection
    {connection}
on the Countersign account server
    {server}
{message}
Countersign is a program that proves who is on the phone: the caller says
three words, which change every minute and which a stranger cannot know. If you
do not have it yet, the page at that address says what it is and how to get it.

Anyone can use any name. Ask this person whether they invited you, in a way
that you already trust. To answer, sign in to that server with this address,
look at the invitation, and approve or decline it:

    export SVC_BACKEND_URL={server}
    countersignd login --email <this address>
    countersignd invite list

The invitation is valid for {lifetime}. If you do not know this person, ignore
this mail. Then nothing happens.
`,
  },

  orgInvitationLetter: {
    subject: 'An invitation to an organisation at {host}',
    text: `Hello,

a person who uses the name
    {person}
invites you to an organisation with the name
    {organisation}
on the Countersign account server
    {server}
Countersign is a program that proves who is on the phone. If you do not have it
yet, the page at that address says what it is and how to get it.

Anyone can use any name. Ask this person whether they invited you, in a way
that you already trust. To become a member, sign in to that server with this
address:

    export SVC_BACKEND_URL={server}
    countersignd login --email <this address>

If an account already has this address, it becomes a member the next time it
renews its session. The members of an organisation see each other's names and
addresses. They see nothing else that you have on the server.

If you do not know this person and have no account there, ignore this mail.
Then nothing happens.
`,
  },

  askedLetter: {
    subject: 'Confirm your request at {host}',
    text: `Hello,

a person, probably you, entered this address and the name
    {name}
in a form on the Countersign account server
    {server}
The form asks for a connection with a person who uses the name
    {owner}

If that was you, open this page within {hours} and confirm your request there:

    {link}

Until you confirm it, the other person does not see your request. Anyone can use
any name, and so can the other person.

If it was not you, ignore this mail. Then nothing happens.
`,
  },

  newRequestLetter: {
    subject: 'A request to connect at {host}',
    text: `Hello,

a person who uses the name
    {person}
asks to connect with you. The person used your open link
    {title}
on the Countersign account server
    {server}

The mailbox is confirmed. The name is not: anyone can use any name.
{waiting} To read and answer requests, use a device
that is signed in:

    countersignd link requests

You get at most one of these mails an hour, also if there are more requests.
To turn these mails off:

    countersignd preferences set --email-notifications off
`,
  },

  guestCodeLetter: {
    subject: 'A link for you at {host}',
    text: `Hello,

a person who uses the name
    {person}
sends you a link through the Countersign account server
    {server}
The link opens a page with three words, which change every minute. On a call
with this person you read out the words, and the person knows that it is you.
The page also checks the words of the person. You need no account. The link:

    {link}

Anyone can use any name. Ask this person whether they sent the link, in a way
that you already trust. Anyone who has the link can use your words. Do not pass
it on, and delete this mail when you no longer need it.

The link is valid until {time}. If you do not know this person,
ignore this mail. Then nothing happens.
`,
  },

  orgAlertLetter: {
    subject: 'An alert at {host}',
    text: `Hello,

the alert
    {alert}
of the organisation
    {organisation}
on the Countersign account server
    {server}
fired, because {happened} there {times} or more
within {minutes}. The next mail about this alert comes {minutes}
later at the earliest.

You get this mail because an owner or admin of the organisation added you to
the alert. To see what happened:

    countersignd org activity

To turn these mails off:

    countersignd preferences set --email-notifications off
`,
  },

  /** What happened in an organisation, as a clause. */
  alertEvents: {
    member_invited: 'a person was invited',
    member_joined: 'a member joined',
    member_activated: 'a member was activated',
    member_suspended: 'a member was suspended',
    member_role_changed: 'the role of a member changed',
    member_left: 'a member left',
    group_created: 'a group was created',
    group_updated: 'a group was changed',
    group_deleted: 'a group was deleted',
    group_members_added: 'members were added to a group',
    group_members_removed: 'members were removed from a group',
    alert_created: 'an alert was created',
    alert_updated: 'an alert was changed',
    alert_deleted: 'an alert was deleted',
    machine_created: 'a machine account was created',
    token_created: 'a token was created',
    token_revoked: 'a token was revoked',
    connection_created: 'a connection was created',
    verification: 'words were verified',
    verification_failed: 'a check of words failed',
    stamp: 'a stamp was created',
  },
} as const
